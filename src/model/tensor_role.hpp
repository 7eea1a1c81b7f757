#pragma once

#include <cstdint>
#include <string_view>

namespace vramfit {

/// What llama-quantize sees in a tensor's name (llama-quant.cpp, tensor categories and "allows quantization").
enum class TensorRole : std::uint8_t {
    kept, ///< never quantized
    output,
    embedding,
    attn_q,
    attn_k,
    value, ///< attn_v and what holds the values in other designs: attn_qkv, and attn_kv_b of MLA
    attn_output,
    ffn_down,
    ffn_gate,
    ffn_up,
    other,
};

/// `name` may be with or without its "blk.N.".
TensorRole tensor_role(std::string_view name);

} // namespace vramfit
