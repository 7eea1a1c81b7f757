#pragma once

#include "vramfit/model/tensor_type.hpp"

#include <cstdint>

namespace vramfit {

/// Has CUDA's default build a flash-attention kernel for this combination (ggml-cuda/fattn.cu)? `n_gqa`: query heads
/// for each KV head. K and V as the kernel gets them: llama.cpp casts f32 caches to f16 itself.
/// Without one the operation runs on the CPU, and `--flash-attn auto` turns flash attention off.
bool cuda_flash_attention(TensorType type_k, TensorType type_v, std::uint64_t head_k, std::uint64_t head_v,
                          std::uint64_t n_gqa);

} // namespace vramfit
