#include "vramfit/memory/draft.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace vramfit {
namespace {

constexpr std::uint64_t f32_bytes = 4;
constexpr std::uint64_t n_pipeline_copies = 4; // ggml-backend.cpp, GGML_SCHED_MAX_COPIES
constexpr std::uint64_t error_share = 8;       // nobody has measured more than dense models

/// llama-arch.cpp of v0.4.0. Of these alone the cache of the MTP block was measured as well.
constexpr std::array<std::string_view, 2> with_rollback{"qwen35", "qwen35moe"};

bool has_rollback(const Model& model) {
    return std::ranges::find(with_rollback, model.architecture->name) != with_rollback.end();
}

std::uint64_t n_embd_of(const Model& model) {
    const double n = model.hparams.get("embedding_length", 0);
    return n > 0 && n < 1e9 ? static_cast<std::uint64_t>(n) : 0;
}

/// The bytes that a cache has for its last layer; what a MTP block takes has the same shape.
std::uint64_t last_layer_bytes(const Cache& cache) {
    return cache.layers.empty() ? 0 : cache.layers.back().alloc_bytes;
}

bool has_block(const Cache& cache, std::uint32_t first) {
    return !cache.recurrent && !cache.layers.empty() && cache.layers.back().il >= static_cast<std::int32_t>(first);
}

/// The caches of the draft context: of the MTP blocks alone, which have a sliding window where the model's layers do.
std::uint64_t mtp_cache_bytes(const Model& model, const std::vector<Cache>& caches) {
    const std::uint64_t n_blocks = model.n_block() - model.n_layer();
    const bool windows =
        std::ranges::any_of(caches, [](const Cache& c) { return c.kind == "swa" && !c.layers.empty(); });
    std::uint64_t sum = 0;
    for (const Cache& cache : caches) {
        if (cache.recurrent || (windows && cache.kind != "swa")) continue;
        sum = checked_add(sum, checked_mul(n_blocks, last_layer_bytes(cache), "a draft"), "a draft");
    }
    return sum;
}

/// The graph on one device has the inputs once; a pipeline over several has four copies of the mask and of both
/// inputs, the token's embedding and the model's last state.
std::uint64_t pipeline_bytes(const Model& model, const ContextPlan& context, bool flash_attn) {
    const std::uint64_t mask_element = flash_attn ? 2 : f32_bytes;
    const std::uint64_t mask = checked_mul(checked_mul(context.n_ctx_seq, context.n_tokens), mask_element, "a draft");
    const std::uint64_t input = checked_mul(checked_mul(n_embd_of(model), context.n_tokens), f32_bytes, "a draft");
    return checked_add(checked_mul(n_pipeline_copies - 1, mask), checked_mul(2 * n_pipeline_copies, input), "a draft");
}

} // namespace

Deployment draft_deployment(const Deployment& target, const ContextPlan& context, TensorType type_k,
                            TensorType type_v) {
    Deployment d = target;
    d.settings.n_ctx = context.n_ctx;
    d.settings.type_k = type_k;
    d.settings.type_v = type_v;
    d.settings.n_outputs_max = context.n_seqs;
    d.settings.embeddings = false;
    d.settings.mtp = false;
    PlacementRequest& p = d.placement;
    const PlacementRequest& asked = target.placement;
    p = {};
    p.n_devices = asked.n_devices;
    p.tensor_split = asked.tensor_split;
    p.split_mode = asked.split_mode;
    p.main_device = asked.main_device;
    return d;
}

MtpContext mtp_context(Estimator& estimator, const Deployment& target, const MemoryEstimate& estimate,
                       TensorType type_k, TensorType type_v) {
    const Model& model = estimator.model();
    Deployment d = draft_deployment(target, estimate.context, type_k, type_v);
    d.settings.mtp = true;
    const Placement placement = place(model, target.placement, true);
    d.placement = {}; // the block and the output layer, which it uses, lie on one device
    d.placement.n_gpu_layers = placement.output_device() == host_device ? 0 : -1;
    const MemoryEstimate alone = estimator.estimate(d);

    MtpContext m;
    m.device = requested_device(target.placement, placement.output_device());
    const bool whole = std::ranges::any_of(alone.caches, [&](const Cache& c) { return has_block(c, model.n_layer()); });
    if (whole)
        for (const Cache& cache : alone.caches) m.kv_cache = checked_add(m.kv_cache, cache.alloc_bytes(), "a draft");
    else
        m.kv_cache = mtp_cache_bytes(model, alone.caches);
    if (!has_rollback(model)) m.kv_basis = Basis::modelled;
    const bool on_device = m.device != host_device;
    m.compute = on_device ? alone.devices.front().compute : alone.host.compute;
    m.host_compute = on_device ? alone.host.compute : 0;
    m.output = alone.host.output;
    if (placement.may_pipeline() && target.settings.offload_kqv)
        m.compute = checked_add(m.compute, pipeline_bytes(model, estimate.context, alone.flash_attn), "a draft");
    m.compute_error = m.compute / error_share;
    return m;
}

std::uint64_t rollback_copies(const Model& model, std::uint64_t draft_tokens) {
    return has_rollback(model) ? draft_tokens : 0;
}

void add_rollback(MemoryEstimate& estimate, std::uint64_t n_copies) {
    if (n_copies == 0) return;
    std::uint64_t widest = 0; // what one layer's states take more in the graph, which makes all of them at once
    for (Cache& cache : estimate.caches) {
        if (!cache.recurrent) continue;
        for (CacheLayer& layer : cache.layers) {
            widest = std::max(widest, checked_mul(layer.s_bytes, n_copies, "recurrent state"));
            layer.r_bytes = checked_mul(layer.r_bytes, 1 + n_copies, "recurrent state");
            layer.s_bytes = checked_mul(layer.s_bytes, 1 + n_copies, "recurrent state");
            const std::uint64_t alignment = layer.device == host_device ? host_alignment : cuda_alignment;
            const std::uint64_t bytes = checked_add(pad(layer.r_bytes, alignment), pad(layer.s_bytes, alignment));
            DeviceMemory& memory = estimate.at(layer.device);
            memory.recurrent_state = checked_add(memory.recurrent_state - layer.alloc_bytes, bytes, "recurrent state");
            layer.alloc_bytes = bytes;
        }
    }
    estimate.compute_basis = std::max(estimate.compute_basis, Basis::modelled);
    estimate.compute_error = checked_add(estimate.compute_error, widest, "recurrent state");
}

} // namespace vramfit
