#pragma once

#include "vramfit/model/weight_groups.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::cli {

/// "4403.49": MiB as llama.cpp's log prints buffers, for comparisons.
std::string mib_number(std::uint64_t bytes);

/// A line for each group of tensors with count, parameters, bytes and types, and their sum as the last.
std::string weight_table(const std::vector<WeightGroup>& groups);

} // namespace vramfit::cli
