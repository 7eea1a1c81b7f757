#include "compare_reasons.hpp"

#include "request_of.hpp"

#include "vramfit/memory/settings.hpp"

#include <algorithm>

namespace vramfit {
namespace {

bool on_host(const ComparedFigure& figure) { return figure.device == "host"; }

bool is_part(const ComparedFigure& figure, BufferKind kind) {
    switch (kind) {
    case BufferKind::weights: return figure.component == "weights";
    case BufferKind::kv_cache: return figure.component == "kv_cache";
    case BufferKind::compute: return figure.component == "compute";
    default: return false;
    }
}

/// Whether the devices have as much of it together as was predicted.
bool same_in_all(const Comparison& comparison, BufferKind kind) {
    std::uint64_t logged = 0, predicted = 0, rounding = 0;
    std::size_t n = 0;
    for (const ComparedFigure& figure : comparison.figures) {
        if (!is_part(figure, kind) || on_host(figure)) continue;
        logged += figure.logged, predicted += figure.predicted, rounding += figure.rounding, ++n;
    }
    return n > 1 && std::max(logged, predicted) - std::min(logged, predicted) <= rounding;
}

std::string reason_of_weights(const Comparison& comparison, const ComparedFigure& figure, const Load& load) {
    const bool mapped = std::ranges::any_of(load.buffers, [](const LogBuffer& b) { return b.device == "CPU_Mapped"; });
    if (on_host(figure) && mapped && figure.logged > figure.predicted)
        return "CPU_Mapped is the stretch of the file that was mapped: weights in it that went to a GPU count twice";
    if (same_in_all(comparison, BufferKind::weights))
        return "another split over the GPUs (-ts) than by their free memory, which the log does not show";
    return "";
}

std::string reason_of_cache(const ComparedFigure& figure, const Load& load, const Request& request) {
    if (load.texts.contains("mla_attn")) return "this fork keeps a cache of its own kind for latent attention (-mla)";
    const std::uint64_t n_ctx = request.n_ctx.value_or(0);
    if (n_ctx % n_cells_pad != 0 && figure.logged < figure.predicted)
        return "llama.cpp now rounds a context up to a multiple of 256; this one did not";
    return "";
}

std::string reason_of_compute(const ComparedFigure& figure, const Load& load) {
    if (reserves_all_outputs(load)) return "an older llama.cpp: the graph that is built in here is a newer one's";
    const bool cuda = on_host(figure) || figure.device.starts_with("CUDA");
    return cuda ? "" : "the rules of the compute buffer were measured with CUDA";
}

} // namespace

void add_reasons(Comparison& comparison, const Load& load, const Request& request) {
    for (ComparedFigure& figure : comparison.figures) {
        if (figure.equal()) continue;
        if (is_part(figure, BufferKind::weights)) figure.reason = reason_of_weights(comparison, figure, load);
        if (is_part(figure, BufferKind::kv_cache)) figure.reason = reason_of_cache(figure, load, request);
        if (is_part(figure, BufferKind::compute)) figure.reason = reason_of_compute(figure, load);
    }
}

} // namespace vramfit
