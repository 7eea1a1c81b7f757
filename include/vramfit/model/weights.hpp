#pragma once

#include "vramfit/model/model.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// Bytes of all tensors of a file whose tensors have `types` (parallel to `model.tensors`): neither header nor padding.
std::uint64_t file_tensor_bytes(const Model& model, const std::vector<TensorType>& types);

/// Bytes that a tensor takes in a CUDA buffer. Matrix kernels read rows to a multiple of 512 elements, so a quantized
/// tensor with other rows has room for the last one behind it (ggml-cuda.cu, get_alloc_size); tensors start at
/// multiples of 128.
std::uint64_t cuda_alloc_size(const Tensor& tensor, TensorType type);

/// Bytes that a tensor takes in a host buffer, where tensors start at multiples of 32 (ggml-backend.cpp).
std::uint64_t host_alloc_size(const Tensor& tensor, TensorType type);

} // namespace vramfit
