#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramfit {

/// The element types of ggml (ggml.h, `enum ggml_type`), with ggml's own numbers, as GGUF files store them.
enum class TensorType : std::uint8_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q8_1 = 9,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    q8_k = 15,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    i8 = 24,
    i16 = 25,
    i32 = 26,
    i64 = 27,
    f64 = 28,
    iq1_m = 29,
    bf16 = 30,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
};

/// How a type stores a row: `block` elements take `block_bytes` bytes (ggml-common.h).
struct TensorTypeTraits {
    std::string_view name; ///< ggml's name: "q4_K", "f16", "iq4_nl"
    std::uint32_t block = 0;
    std::uint32_t block_bytes = 0;
    bool quantized = false;
};

/// The traits of `type`. Throws Error for a number that ggml does not know (or has removed).
const TensorTypeTraits& traits(TensorType type);

/// Type of ggml's number `id`, or nothing.
std::optional<TensorType> tensor_type_from_id(std::uint32_t id);

/// Type by its name, letter case forgiven ("q4_k", "Q8_0"), or nothing.
std::optional<TensorType> parse_tensor_type(std::string_view name);

/// Bytes of a row of `n` elements: n / block * block_bytes (ggml.c, `ggml_row_size`). `n` need not be a multiple of the
/// block: as in ggml the division comes last.
inline std::uint64_t row_size(TensorType type, std::uint64_t n) {
    const TensorTypeTraits& t = traits(type);
    return t.block_bytes * n / t.block;
}

} // namespace vramfit
