#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// Tensors of one type within a group.
struct WeightType {
    TensorType type = TensorType::f16;
    std::uint64_t tensors = 0;
    std::uint64_t bytes = 0;
};

/// Tensors of a model that serve the same purpose.
struct WeightGroup {
    std::string name; ///< "embeddings", "attention", "recurrent", "feed-forward", "experts", "MTP", "output", "other"
    std::uint64_t tensors = 0;
    std::uint64_t parameters = 0;
    std::uint64_t bytes = 0;       ///< in the file: neither header nor padding
    std::vector<WeightType> types; ///< that occur, the one with most bytes first
};

/// The tensors of a file by group, in the order above, without empty ones; `types` are those of the tensors (parallel to
/// `model.tensors`). The bytes add up to the tensor data of the file.
std::vector<WeightGroup> weight_groups(const Model& model, const std::vector<TensorType>& types);

} // namespace vramfit
