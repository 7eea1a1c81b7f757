#include "vramfit/memory/estimate.hpp"

#include "refusal.hpp"
#include "row_split.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <set>

namespace vramfit {
namespace {

constexpr std::uint64_t mean_allocation_loss = mib; // an allocation of CUDA ends on a boundary of 2 MiB
constexpr std::size_t n_remembered = 32;            // a sweep asks for as many contexts, or file types, in turn

void add(std::uint64_t& sum, std::uint64_t bytes) { sum = checked_add(sum, bytes, "the memory of a device"); }

std::uint64_t alloc_size(const Tensor& tensor, TensorType type, std::int32_t device) {
    return device == host_device ? host_alloc_size(tensor, type) : cuda_alloc_size(tensor, type);
}

/// Without a split the plan knows the main device alone: the others hold nothing.
void add_unused_devices(MemoryEstimate& e, const PlacementRequest& request) {
    if (request.split_mode != SplitMode::none || e.devices.size() == request.n_devices) return;
    std::vector<DeviceMemory> devices(request.n_devices);
    devices[request.main_device] = e.devices.front();
    e.devices = std::move(devices);
    for (Cache& cache : e.caches) {
        for (CacheLayer& layer : cache.layers) layer.device = requested_device(request, layer.device);
    }
}

} // namespace

Estimator::Estimator(Model model)
    : model_(std::make_unique<const Model>(std::move(model))),
      patterns_(*model_),
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

/// Adds the rows of a matrix to all devices, where they are split; false where the tensor lies in one piece.
bool Estimator::add_rows(std::size_t tensor, TensorType type, Placed& placed) const {
    const Placement& placement = placed.placement;
    const Tensor& matrix = model_->tensors[tensor];
    const bool tied = static_cast<std::int32_t>(tensor) == placement.tied_output;
    const std::int32_t device = tied ? placement.tied_device : placement.tensor_device[tensor];
    const bool pinned = !placement.pinned.empty() && placement.pinned[tensor];
    if (placement.row_ends.empty() || device == host_device || pinned) return false;
    if (!tied && !splits_by_rows(matrix, model_->name_of(matrix))) return false;
    const std::vector<std::uint64_t> bytes = split_rows(matrix, type, placement.row_ends);
    if (bytes[static_cast<std::size_t>(device)] == 0) return false; // a device without rows cannot multiply them
    for (std::size_t d = 0; d < bytes.size(); ++d) add(placed.devices[d].weights, bytes[d]);
    ++placed.n_split;
    return true;
}

void Estimator::place_weights(const Weights& w, Placed& placed) {
    const Placement& placement = placed.placement;
    const auto load = [&](const Tensor& tensor, TensorType type, std::int32_t device) {
        DeviceMemory& memory = device == host_device ? placed.host : placed.devices[static_cast<std::size_t>(device)];
        add(memory.weights, alloc_size(tensor, type, device));
    };
    for (std::size_t i = 0; i < model_->tensors.size(); ++i) {
        if (!placement.loaded[i]) continue;
        const Tensor& tensor = model_->tensors[i];
        const bool pinned = !placement.pinned.empty() && placement.pinned[i];
        if (tensor.section == TensorSection::each && !pinned) {
            for (const std::int32_t device : devices_of_shared(tensor, placement)) load(tensor, w.types[i], device);
            continue;
        }
        const bool tied = static_cast<std::int32_t>(i) == placement.tied_output;
        const bool in_rows = add_rows(i, w.types[i], placed); // of a tied tensor: as output matrix
        if (!in_rows || tied) load(tensor, w.types[i], placement.tensor_device[i]);
        if (tied && !in_rows && placement.tied_device != placement.tensor_device[i])
            load(tensor, w.types[i], placement.tied_device);
    }
}

void Estimator::place_caches(MemoryEstimate& estimate) const {
    for (const Cache& cache : estimate.caches) {
        for (const CacheLayer& layer : cache.layers) {
            DeviceMemory& memory = estimate.at(layer.device);
            add(cache.recurrent ? memory.recurrent_state : memory.kv_cache, layer.alloc_bytes);
        }
    }
}

std::vector<Cache> Estimator::caches(const Settings& settings, const ContextPlan& context, const Placement& placement) {
    set_context(eval_, settings, context);
    return plan_caches(eval_, settings, context, placement, settings.flash_attn == FlashAttention::off);
}

/// Logits of one token a sequence, and with embeddings on these as well (llama-context.cpp, `output_reserve`).
std::uint64_t Estimator::output_bytes(const Settings& settings, const ContextPlan& context) {
    const auto width = [&](std::string_view name) { return to_count(eval_.value_or(name, 0), name); };
    const std::uint64_t row = width("n_vocab") + (settings.embeddings ? width("n_embd") : 0);
    return checked_mul(checked_mul(4, context.n_seqs), row);
}

const Estimator::Placed& Estimator::placed(const Deployment& d) {
    const auto same = [&](const Placed& p) {
        return p.file_type == d.file_type && p.imatrix == d.imatrix && p.mtp == d.settings.mtp &&
               p.request == d.placement;
    };
    const auto known = std::ranges::find_if(placed_, same);
    if (known != placed_.end()) return *known;
    if (placed_.size() == n_remembered) placed_.erase(placed_.begin());
    Placed p{
        d.file_type, d.imatrix, d.settings.mtp, d.placement, place(*model_, d.placement, d.settings.mtp, patterns_), {},
        {},          0};
    p.devices.resize(p.placement.n_devices);
    place_weights(weights(d.file_type, d.imatrix), p);
    placed_.push_back(std::move(p));
    return placed_.back();
}

/// The compute buffers do not depend on the file type where no weight is copied between devices.
const Estimator::Planned& Estimator::planned(const Deployment& d, const Placement& placement) {
    const bool any_type = ComputePlanner::on_one_device(d.settings, placement);
    const auto same = [&](const Planned& p) {
        return p.settings == d.settings && p.request == d.placement &&
               (any_type || (p.file_type == d.file_type && p.imatrix == d.imatrix));
    };
    const auto known = std::ranges::find_if(planned_, same);
    if (known != planned_.end()) return *known;
    if (planned_.size() == n_remembered) planned_.erase(planned_.begin());
    Planned p{d.settings, d.placement, d.file_type, d.imatrix, plan_context(d.settings, model_->n_ctx_train()),
              {},         {},          {}};
    p.caches = caches(d.settings, p.context, placement);
    p.refusal = settings_refusal(eval_, d.settings, p.caches);
    if (!p.refusal) {
        const std::vector<TensorType>& types = weights(d.file_type, d.imatrix).types;
        p.compute = planner_.plan(d.settings, p.context, placement, p.caches, types);
        p.refusal = graph_refusal(eval_, p.compute.n_nodes + p.compute.n_leafs);
    }
    planned_.push_back(std::move(p));
    return planned_.back();
}

MemoryEstimate Estimator::estimate(const Deployment& deployment) {
    const Placed& where = placed(deployment);
    const Planned& plan = planned(deployment, where.placement);
    MemoryEstimate e;
    e.refusal = plan.refusal;
    e.context = plan.context;
    e.flash_attn = plan.compute.flash_attn;
    e.devices = where.devices;
    static_cast<DeviceMemory&>(e.host) = where.host;
    e.host.output = output_bytes(deployment.settings, e.context);
    e.caches = plan.caches;
    e.tensor_bytes = weights(deployment.file_type, deployment.imatrix).tensor_bytes;
    e.n_nodes = plan.compute.n_nodes;
    e.n_splits = plan.compute.n_splits;
    place_caches(e);
    for (std::size_t i = 0; i < plan.compute.device_bytes.size(); ++i)
        e.devices[i].compute = plan.compute.device_bytes[i];
    e.host.compute = plan.compute.host_bytes;
    if (where.n_split > 0) {
        e.weights_basis = e.compute_basis = Basis::modelled;
        e.compute_error = where.n_split * mean_allocation_loss;
    }
    add_unused_devices(e, deployment.placement);
    if (eval_.value_or("modelled", 0) != 0) { // an architecture that is not described: a plain transformer stands in
        e.kv_basis = e.compute_basis = Basis::modelled;
        for (const DeviceMemory& device : e.devices) e.compute_error = std::max(e.compute_error, device.compute / 2);
    }
    return e;
}

std::vector<Cache> Estimator::caches(const Deployment& deployment) {
    const Placement placement = place(*model_, deployment.placement, deployment.settings.mtp, patterns_);
    return caches(deployment.settings, plan_context(deployment.settings, model_->n_ctx_train()), placement);
}

std::uint64_t Estimator::kv_bytes_per_token(const Deployment& deployment) {
    const Placement placement = place(*model_, deployment.placement, deployment.settings.mtp, patterns_);
    const auto cache_bytes = [&](const ContextPlan& context) {
        std::uint64_t sum = 0;
        for (const Cache& cache : caches(deployment.settings, context, placement)) {
            if (!cache.recurrent) add(sum, cache.alloc_bytes());
        }
        return sum;
    };
    const ContextPlan here = plan_context(deployment.settings, model_->n_ctx_train());
    ContextPlan longer = here;
    longer.n_ctx_seq += n_cells_pad;
    longer.n_ctx += n_cells_pad * here.n_stream;
    return (cache_bytes(longer) - cache_bytes(here)) / (n_cells_pad * here.n_stream);
}

} // namespace vramfit
