#pragma once

#include <array>
#include <cstddef>
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

/// Indexed by ggml's number. The gaps are numbers that ggml has given up: q4_2, q4_3 and the repacked q4_0 and iq4_nl
/// (ggml.h). Block sizes: ggml-common.h.
inline constexpr std::array<TensorTypeTraits, 43> tensor_type_table{{
    {"f32", 1, 4, false},       // 0
    {"f16", 1, 2, false},       // 1
    {"q4_0", 32, 18, true},     // 2
    {"q4_1", 32, 20, true},     // 3
    {},                         // 4
    {},                         // 5
    {"q5_0", 32, 22, true},     // 6
    {"q5_1", 32, 24, true},     // 7
    {"q8_0", 32, 34, true},     // 8
    {"q8_1", 32, 36, true},     // 9
    {"q2_K", 256, 84, true},    // 10
    {"q3_K", 256, 110, true},   // 11
    {"q4_K", 256, 144, true},   // 12
    {"q5_K", 256, 176, true},   // 13
    {"q6_K", 256, 210, true},   // 14
    {"q8_K", 256, 292, true},   // 15
    {"iq2_xxs", 256, 66, true}, // 16
    {"iq2_xs", 256, 74, true},  // 17
    {"iq3_xxs", 256, 98, true}, // 18
    {"iq1_s", 256, 50, true},   // 19
    {"iq4_nl", 32, 18, true},   // 20
    {"iq3_s", 256, 110, true},  // 21
    {"iq2_s", 256, 82, true},   // 22
    {"iq4_xs", 256, 136, true}, // 23
    {"i8", 1, 1, false},        // 24
    {"i16", 1, 2, false},       // 25
    {"i32", 1, 4, false},       // 26
    {"i64", 1, 8, false},       // 27
    {"f64", 1, 8, false},       // 28
    {"iq1_m", 256, 56, true},   // 29
    {"bf16", 1, 2, false},      // 30
    {},                         // 31
    {},                         // 32
    {},                         // 33
    {"tq1_0", 256, 54, true},   // 34
    {"tq2_0", 256, 66, true},   // 35
    {},                         // 36
    {},                         // 37
    {},                         // 38
    {"mxfp4", 32, 17, true},    // 39
    {"nvfp4", 64, 36, true},    // 40
    {"q1_0", 128, 18, true},    // 41
    {"q2_0", 64, 18, true},     // 42
}};

[[noreturn]] void throw_unknown_type(std::size_t id);

/// The traits of `type`. Throws Error for a number that ggml does not know (or has removed).
inline const TensorTypeTraits& traits(TensorType type) {
    const auto id = static_cast<std::size_t>(type);
    if (id >= tensor_type_table.size() || tensor_type_table[id].block == 0) throw_unknown_type(id);
    return tensor_type_table[id];
}

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
