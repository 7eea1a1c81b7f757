#include "tokens_beside.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// The margin that llama.cpp itself keeps (common/common.h): less is tight.
constexpr std::uint64_t margin = gib;

Deployment deployment_of(const Request& request, std::uint64_t n_ctx) {
    const RuntimeProfile runtime = find_runtime(request.runtime);
    Deployment d; // the file type only matters to the weights, which are not asked about
    d.settings.n_ctx = n_ctx;
    d.settings.n_batch = request.n_batch.value_or(runtime.n_batch);
    d.settings.n_ubatch = request.n_ubatch.value_or(runtime.n_ubatch);
    d.settings.n_seq_max = request.parallel.value_or(runtime.slots);
    d.settings.kv_unified = request.kv_unified.value_or(!request.parallel && runtime.unified);
    d.settings.type_k = request.type_k.value_or(TensorType::f16);
    d.settings.type_v = request.type_v.value_or(TensorType::f16);
    d.settings.flash_attn = request.flash_attn.value_or(FlashAttention::automatic);
    d.settings.swa_full = request.swa_full;
    d.settings.offload_kqv = request.kv_offload;
    if (runtime.outputs == RuntimeProfile::Outputs::slots) d.settings.n_outputs_max = d.settings.n_seq_max;
    return d;
}

std::uint64_t taken(Estimator& estimator, const Request& request, std::uint64_t n_ctx) {
    const MemoryEstimate estimate = estimator.estimate(deployment_of(request, n_ctx));
    const DeviceMemory& device = estimate.devices.front();
    return device.kv_cache + device.recurrent_state + device.compute;
}

/// Largest multiple of 256 up to `most` whose context fits; 0: none.
std::uint64_t largest(Estimator& estimator, const Request& request, std::uint64_t most, std::uint64_t free) {
    std::uint64_t low = 0, high = std::max<std::uint64_t>(most / n_cells_pad, 1);
    while (low < high) {
        const std::uint64_t middle = (low + high + 1) / 2;
        if (taken(estimator, request, middle * n_cells_pad) <= free)
            low = middle;
        else
            high = middle - 1;
    }
    return low * n_cells_pad;
}

BesidePlan plan(Estimator& estimator, const Request& request, std::uint64_t n_ctx, std::uint64_t free) {
    BesidePlan result;
    result.n_ctx = n_ctx;
    const std::uint64_t bytes = taken(estimator, request, n_ctx);
    result.verdict = free - bytes >= margin ? Verdict::fit : Verdict::tight;
    result.summary =
        "a context of " + std::to_string(n_ctx) + " takes " + format_mib(bytes) + " with its compute buffer";
    return result;
}

} // namespace

CacheNeed cache_need(const Request& request, Estimator& estimator) {
    const std::uint64_t trained = estimator.model().n_ctx_train();
    const std::uint64_t n_ctx = request.n_ctx.value_or(std::max<std::uint64_t>(trained, n_cells_pad));
    const Deployment d = deployment_of(request, n_ctx);
    std::uint64_t bytes = 0;
    for (const Cache& cache : estimator.caches(d)) bytes = checked_add(bytes, cache.alloc_bytes(), "the caches");
    return {n_ctx, bytes, estimator.kv_bytes_per_token(d)};
}

std::vector<BesidePlan> plans_beside(const Request& request, Estimator& estimator, std::uint64_t free) {
    const std::uint64_t trained = std::max<std::uint64_t>(estimator.model().n_ctx_train(), n_cells_pad);
    const std::uint64_t asked = std::min(request.n_ctx.value_or(trained), max_ctx / 2);
    std::vector<BesidePlan> plans;
    if (const std::uint64_t n_ctx = largest(estimator, request, asked, free); n_ctx > 0) {
        plans.push_back(plan(estimator, request, n_ctx, free));
        plans.back().kind = "ctx";
    }
    Request smaller = request;
    smaller.type_k = smaller.type_v = TensorType::q8_0;
    if (request.type_k == TensorType::q8_0) smaller.type_k = smaller.type_v = TensorType::q4_0;
    if (request.flash_attn == FlashAttention::off || request.type_k == TensorType::q4_0) return plans;
    const std::uint64_t n_ctx = largest(estimator, smaller, asked, free);
    if (n_ctx <= (plans.empty() ? 0 : plans.front().n_ctx)) return plans;
    plans.push_back(plan(estimator, smaller, n_ctx, free));
    plans.back().kind = "cache_type";
    plans.back().type = smaller.type_k;
    return plans;
}

} // namespace vramfit
