#pragma once

#include "vramfit/model/model.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// Bytes of all tensors of a file whose tensors have `types` (parallel to `model.tensors`): neither header nor padding.
std::uint64_t file_tensor_bytes(const Model& model, const std::vector<TensorType>& types);

/// Bytes that `bytes` of type `type` in rows of `ne0` elements take in a CUDA buffer, before alignment. Matrix kernels read rows to a multiple of 512 elements, so a quantized
/// tensor with other rows has room for the last one behind it (ggml-cuda.cu, get_alloc_size).
std::uint64_t cuda_bytes(TensorType type, std::uint64_t ne0, std::uint64_t bytes);

inline constexpr std::uint64_t cuda_alignment =
    128; ///< tensors of a CUDA buffer start at multiples of it (ggml-cuda.cu)
inline constexpr std::uint64_t host_alignment = 32; ///< likewise on the host (ggml-backend.cpp)

/// Bytes that a tensor takes in a CUDA buffer, alignment included.
std::uint64_t cuda_alloc_size(const Tensor& tensor, TensorType type);

/// Bytes that a tensor takes in a host buffer, alignment included.
std::uint64_t host_alloc_size(const Tensor& tensor, TensorType type);

} // namespace vramfit
