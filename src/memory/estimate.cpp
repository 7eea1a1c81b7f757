#include "vramfit/memory/estimate.hpp"

#include "refusal.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <set>

namespace vramfit {
namespace {

constexpr std::uint64_t growth_step = 256; // cells come in multiples of it

DeviceMemory& memory_at(MemoryEstimate& estimate, std::int32_t device) {
    if (device == host_device) return estimate.host;
    return estimate.devices[static_cast<std::size_t>(device)];
}

std::uint64_t alloc_size(const Tensor& tensor, TensorType type, std::int32_t device) {
    return device == host_device ? host_alloc_size(tensor, type) : cuda_alloc_size(tensor, type);
}

} // namespace

Estimator::Estimator(Model model)
    : model_(std::make_unique<const Model>(std::move(model))),
      eval_(*model_),
      planner_(eval_) {}

const Estimator::Weights& Estimator::weights(FileType file_type, bool imatrix) {
    const auto [it, added] = weights_.try_emplace({file_type, imatrix});
    Weights& w = it->second;
    if (added) {
        if (model_->file_type.empty()) {
            QuantMix mix = quant_mix(*model_, model_->architecture->name, file_type, imatrix);
            w.types = std::move(mix.types);
            w.refused = std::move(mix.refused);
        } else {
            for (const Tensor& tensor : model_->tensors) w.types.push_back(tensor.type);
        }
        w.tensor_bytes = file_tensor_bytes(*model_, w.types);
    }
    return w;
}

std::uint64_t Estimator::tensor_bytes(FileType file_type, bool imatrix) {
    return weights(file_type, imatrix).tensor_bytes;
}

std::optional<std::string> Estimator::quant_refusal(FileType file_type, bool imatrix) {
    return weights(file_type, imatrix).refused;
}

/// Where a tensor that layers share lies: a copy on every device with a layer that uses it.
std::set<std::int32_t> Estimator::devices_of_shared(const Tensor& tensor, const Placement& placement) {
    const Expression* condition = nullptr;
    for (const TensorTemplate& t : model_->architecture->tensor_templates) {
        if (model_->architecture->tensors.at(t.name) == model_->name_of(tensor)) condition = &t.condition;
    }
    std::set<std::int32_t> devices;
    for (std::uint32_t il = 0; il < model_->n_layer(); ++il) {
        eval_.enter_layer(static_cast<std::int32_t>(il));
        if (condition == nullptr || eval_.holds(*condition)) devices.insert(placement.layer_device[il]);
    }
    return devices;
}

void Estimator::place_weights(const Weights& w, const Placement& placement, MemoryEstimate& estimate) {
    for (std::size_t i = 0; i < model_->tensors.size(); ++i) {
        if (!placement.loaded[i]) continue;
        const Tensor& tensor = model_->tensors[i];
        if (tensor.section == TensorSection::each) {
            for (const std::int32_t device : devices_of_shared(tensor, placement))
                memory_at(estimate, device).weights += alloc_size(tensor, w.types[i], device);
            continue;
        }
        const std::int32_t device = placement.tensor_device[i];
        memory_at(estimate, device).weights += alloc_size(tensor, w.types[i], device);
        if (static_cast<std::int32_t>(i) == placement.tied_output && placement.output_device() != host_device)
            memory_at(estimate, placement.output_device()).weights +=
                alloc_size(tensor, w.types[i], placement.output_device());
    }
}

void Estimator::place_caches(MemoryEstimate& estimate) const {
    for (const Cache& cache : estimate.caches) {
        for (const CacheLayer& layer : cache.layers) {
            DeviceMemory& memory = memory_at(estimate, layer.device);
            (cache.recurrent ? memory.recurrent_state : memory.kv_cache) += layer.alloc_bytes;
        }
    }
}

std::vector<Cache> Estimator::caches(const Settings& settings, const ContextPlan& context, const Placement& placement) {
    set_context(eval_, settings, context);
    return plan_caches(eval_, settings, context, placement, settings.flash_attn == FlashAttention::off);
}

/// Logits of one token a sequence, and with embeddings on these as well (llama-context.cpp, `output_reserve`).
std::uint64_t Estimator::output_bytes(const Settings& settings, const ContextPlan& context) {
    const auto width = [&](std::string_view name) { return static_cast<std::uint64_t>(eval_.value_or(name, 0)); };
    const std::uint64_t row = width("n_vocab") + (settings.embeddings ? width("n_embd") : 0);
    return checked_mul(checked_mul(4, context.n_seqs), row);
}

MemoryEstimate Estimator::estimate(const Deployment& deployment) {
    const Settings& settings = deployment.settings;
    MemoryEstimate e;
    e.context = plan_context(settings, model_->n_ctx_train());
    const Placement placement = place(*model_, deployment.placement, settings.mtp);
    e.devices.resize(deployment.placement.n_devices);
    const Weights& w = weights(deployment.file_type, deployment.imatrix);
    e.tensor_bytes = w.tensor_bytes;
    place_weights(w, placement, e);
    e.caches = caches(settings, e.context, placement);
    place_caches(e);
    e.host.output = output_bytes(settings, e.context);
    e.refusal = settings_refusal(eval_, settings, e.caches);
    if (e.refusal) return e;
    const ComputePlan compute = planner_.plan(settings, e.context, placement, e.caches, w.types);
    e.flash_attn = compute.flash_attn;
    e.n_nodes = compute.n_nodes;
    e.n_splits = compute.n_splits;
    for (std::size_t i = 0; i < e.devices.size(); ++i) e.devices[i].compute = compute.device_bytes[i];
    e.host.compute = compute.host_bytes;
    e.refusal = graph_refusal(eval_, compute.n_nodes + compute.n_leafs);
    return e;
}

std::uint64_t Estimator::kv_bytes_per_token(const Deployment& deployment) {
    const Placement placement = place(*model_, deployment.placement, deployment.settings.mtp);
    const auto cache_bytes = [&](const ContextPlan& context) {
        std::uint64_t sum = 0;
        for (const Cache& cache : caches(deployment.settings, context, placement)) {
            if (!cache.recurrent) sum += cache.alloc_bytes();
        }
        return sum;
    };
    const ContextPlan here = plan_context(deployment.settings, model_->n_ctx_train());
    ContextPlan longer = here;
    longer.n_ctx_seq += growth_step;
    longer.n_ctx += growth_step * here.n_stream;
    return (cache_bytes(longer) - cache_bytes(here)) / (growth_step * here.n_stream);
}

} // namespace vramfit
