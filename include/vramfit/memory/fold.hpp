#pragma once

#include <cstdint>
#include <vector>

namespace vramfit {

/// A model's layers with repetitions cut out. Layers of one kind do the same, so where the allocator's state before some
/// layers is what it was one repetition earlier, any number of repetitions between makes no difference. Whether it is
/// gets checked on the replay, cut by cut (`Replay::boundaries`).
struct Fold {
    struct Cut {
        std::uint32_t at = 0;   ///< index in `layers` of the first layer behind the cut
        std::uint32_t from = 0; ///< index of the layer one repetition before it
    };
    std::vector<std::int32_t> layers;  ///< the layers that are kept, in order
    std::vector<std::int32_t> removed; ///< the others
    std::vector<Cut> cuts;
};

/// All `n` layers.
Fold all_layers(std::uint32_t n);

/// The layers of a model by kind (equal numbers: equal lines), every repetition cut behind `n_kept` turns of at least
/// `min_period` layers. Fewer are quicker; more give the allocator's state the time to settle.
Fold fold_layers(const std::vector<std::uint32_t>& kinds, std::uint32_t n_kept, std::uint32_t min_period);

} // namespace vramfit
