#include "host_memory.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::uint64_t added(std::uint64_t a, std::uint64_t b) { return checked_add(a, b, "the computer's memory"); }

/// One state of one sequence: the cells of its window, with the batch that is being read, and the recurrent state.
std::uint64_t checkpoint_bytes(const Model& model, const Settings& settings, const MemoryEstimate& estimate) {
    const double window = model.hparams.get("attention.sliding_window", 0);
    const std::uint64_t n_swa = window > 0 && window < 1e9 ? static_cast<std::uint64_t>(window) : 0;
    std::uint64_t bytes = 0;
    for (const Cache& cache : estimate.caches) {
        const bool windowed = cache.kind == "swa" && !settings.swa_full && cache.cells > 0;
        if (!cache.recurrent && !windowed) continue;
        for (const CacheLayer& layer : cache.layers) {
            if (cache.recurrent) {
                bytes =
                    added(bytes, (layer.r_bytes + layer.s_bytes) / std::max<std::uint64_t>(1, estimate.context.n_seqs));
                continue;
            }
            const std::uint64_t cell = (layer.k_bytes + layer.v_bytes) / (cache.cells * cache.n_stream);
            bytes = added(bytes, checked_mul(cell, std::min(cache.cells, n_swa + estimate.context.n_ubatch)));
        }
    }
    return bytes;
}

} // namespace

HostGrowth host_growth(const RuntimeProfile& runtime, const Model& model, const Settings& settings,
                       const MemoryEstimate& estimate) {
    HostGrowth growth;
    growth.prompt_cache = runtime.prompt_cache;
    if (runtime.checkpoints == 0 || runtime.checkpoint_step == 0) return growth;
    const ContextPlan& context = estimate.context;
    const std::uint64_t spaced = context.n_ctx / runtime.checkpoint_step + context.n_seqs;
    const std::uint64_t count = std::min(spaced, checked_mul(runtime.checkpoints, context.n_seqs));
    growth.checkpoints = checked_mul(count, checkpoint_bytes(model, settings, estimate), "the computer's memory");
    return growth;
}

HostAnswer judge_host(std::uint64_t ram, std::uint64_t margin, const MemoryEstimate& estimate,
                      const std::vector<Device>& devices) {
    HostAnswer host;
    host.total = ram;
    host.wanted = margin;
    host.required = estimate.host.total();
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i].unified) host.shared = added(host.shared, estimate.devices[i].sum());
    host.required = added(host.required, host.shared);
    constexpr std::uint64_t most = std::uint64_t{1} << 62; // sums with a margin stay countable
    const std::uint64_t size = host.required > ram ? host.required - ram : ram - host.required;
    host.headroom = static_cast<std::int64_t>(std::min(size, most));
    if (host.required > ram) host.headroom = -host.headroom;
    if (host.headroom < 0)
        host.verdict = Verdict::oom;
    else if (static_cast<std::uint64_t>(host.headroom) < margin)
        host.verdict = Verdict::tight;
    return host;
}

} // namespace vramfit
