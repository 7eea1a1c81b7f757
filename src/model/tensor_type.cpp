#include "vramfit/model/tensor_type.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace vramfit {

namespace {

// Indexed by ggml's number. The gaps are numbers that ggml has given up: q4_2, q4_3 and the repacked q4_0 and iq4_nl
// (ggml.h). Block sizes: ggml-common.h.
constexpr std::array<TensorTypeTraits, 43> all_traits{{
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

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

} // namespace

const TensorTypeTraits& traits(TensorType type) {
    const auto id = static_cast<std::size_t>(type);
    if (id >= all_traits.size() || all_traits[id].block == 0) {
        throw Error("ggml has no tensor type " + std::to_string(id));
    }
    return all_traits[id];
}

std::optional<TensorType> tensor_type_from_id(std::uint32_t id) {
    if (id >= all_traits.size() || all_traits[id].block == 0) return std::nullopt;
    return static_cast<TensorType>(id);
}

std::optional<TensorType> parse_tensor_type(std::string_view name) {
    if (name.empty()) return std::nullopt; // the gaps have empty names
    for (std::size_t id = 0; id < all_traits.size(); ++id) {
        if (equal_ignoring_case(all_traits[id].name, name)) return static_cast<TensorType>(id);
    }
    return std::nullopt;
}

} // namespace vramfit
