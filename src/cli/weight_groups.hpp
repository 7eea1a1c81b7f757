#pragma once

#include "vramfit/model/file_type.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::cli {

/// Tensors of a model that serve the same purpose.
struct WeightGroup {
    std::string name; ///< "embeddings", "attention", "recurrent", "feed-forward", "experts", "MTP", "output", "other"
    std::uint64_t tensors = 0;
    std::uint64_t parameters = 0;
    std::uint64_t bytes = 0;             ///< in the file: neither header nor padding
    std::vector<std::string_view> types; ///< that occur, the one with most bytes first
};

/// The tensors of a file of that type by group, in the order above, without empty ones. The bytes add up to the
/// tensor data of the file.
std::vector<WeightGroup> weight_groups(const Model& model, FileType file_type, bool imatrix);

} // namespace vramfit::cli
