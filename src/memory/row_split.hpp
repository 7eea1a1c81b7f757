#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace vramfit {

/// Are the rows of a layer's or the output's tensor divided among the devices (`-sm row`)? Matrices that are multiplied
/// with are; norms, biases, experts and what other operations read lie in one piece (ggml-cuda.cu: a split buffer is
/// for MUL_MAT alone).
bool splits_by_rows(const Tensor& tensor, std::string_view name);

/// Bytes of a matrix's rows on each device: `ends` are the upper ends of the devices' shares of 1. Boundaries are
/// rounded down to whole tiles of the matrix kernels, and each part has room for the padding of its last row
/// (ggml-cuda.cu, get_row_split).
std::vector<std::uint64_t> split_rows(const Tensor& tensor, TensorType type, const std::vector<double>& ends);

} // namespace vramfit
