#include "vramfit/memory/fold.hpp"

#include <numeric>

namespace vramfit {
namespace {

constexpr std::uint32_t max_period = 16; // the longest patterns of layers that models use are of eight

/// Layers from `il` on that have the kind of the layer `period` before them.
std::uint32_t repeating(const std::vector<std::uint32_t>& kinds, std::uint32_t il, std::uint32_t period) {
    std::uint32_t n = 0;
    while (il + n < kinds.size() && kinds[il + n] == kinds[il + n - period]) ++n;
    return n;
}

bool turned(const std::vector<std::uint32_t>& kinds, std::uint32_t il, std::uint32_t period, std::uint32_t turns) {
    if (il < turns * period) return false;
    for (std::uint32_t back = 1; back <= (turns - 1) * period; ++back) {
        if (kinds[il - back] != kinds[il - back - period]) return false;
    }
    return true;
}

} // namespace

Fold all_layers(std::uint32_t n) {
    Fold fold;
    fold.layers.resize(n);
    std::iota(fold.layers.begin(), fold.layers.end(), 0);
    return fold;
}

Fold fold_layers(const std::vector<std::uint32_t>& kinds, std::uint32_t n_kept, std::uint32_t min_period) {
    const auto n = static_cast<std::uint32_t>(kinds.size());
    Fold fold;
    std::vector<std::int32_t> kept_at(n, -1); // index in fold.layers, or -1
    for (std::uint32_t il = 0; il < n; ++il) {
        std::uint32_t saving = 0, period_cut = 0;
        for (std::uint32_t period = min_period; period <= max_period && period <= il; ++period) {
            if (kept_at[il - period] < 0 || !turned(kinds, il, period, n_kept)) continue;
            // One turn stays behind the cut: in the last one the graph's inputs are read for the last time.
            const std::uint32_t turns = repeating(kinds, il, period) / period;
            if (turns >= 2 && (turns - 1) * period > saving) {
                saving = (turns - 1) * period;
                period_cut = period;
            }
        }
        if (saving > 0) {
            fold.cuts.push_back(
                {static_cast<std::uint32_t>(fold.layers.size()), static_cast<std::uint32_t>(kept_at[il - period_cut])});
            for (const std::uint32_t end = il + saving; il < end; ++il)
                fold.removed.push_back(static_cast<std::int32_t>(il));
        }
        kept_at[il] = static_cast<std::int32_t>(fold.layers.size());
        fold.layers.push_back(static_cast<std::int32_t>(il));
    }
    return fold;
}

} // namespace vramfit
