#include "vramfit/base/quote.hpp"

#include <cstddef>
#include <cstdint>

namespace vramfit {
namespace {

constexpr std::size_t longest = 60;

/// A character at the head of a text: its bytes, and its code point.
struct Character {
    std::size_t size = 1;
    std::uint32_t code = 0;
    bool valid = false;
};

/// UTF-8 as Unicode defines it: neither overlong forms nor surrogates, nothing beyond U+10FFFF. A byte that begins no
/// such character stands alone.
Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80U) return {1, lead, true};
    if (lead < 0xC2U || lead > 0xF4U) return {};
    const std::size_t size = lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
    if (text.size() < size) return {};
    std::uint32_t code = lead & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = code << 6U | (byte(i) & 0x3FU);
    }
    const bool overlong = (size == 3 && code < 0x800U) || (size == 4 && code < 0x10000U);
    const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
    if (overlong || surrogate || code > 0x10FFFFU) return {};
    return {size, code, true};
}

/// Whether a terminal may act upon it instead of showing it, or show what follows elsewhere: the control characters C0
/// and C1, line and paragraph separators, and what sets the direction of writing.
bool is_control(std::uint32_t code) {
    const auto between = [&](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
    return code < 0x20U || between(0x7FU, 0x9FU) || code == 0x61CU || between(0x200EU, 0x200FU) ||
           between(0x2028U, 0x202EU) || between(0x2066U, 0x2069U);
}

} // namespace

std::string printable(std::string_view text) {
    std::string shown;
    for (std::size_t taken = 0; taken < text.size();) {
        const Character c = first_character(text.substr(taken));
        if (c.valid && !is_control(c.code))
            shown += text.substr(taken, c.size);
        else
            shown += c.code == '\t' && c.valid ? ' ' : '?';
        taken += c.size;
    }
    return shown;
}

std::string quote(std::string_view text) {
    std::string quoted = "\"";
    for (std::size_t taken = 0; taken < text.size();) {
        const Character c = first_character(text.substr(taken));
        if (taken + c.size > longest) return quoted + "...\"";
        if (c.valid && !is_control(c.code))
            quoted += text.substr(taken, c.size);
        else
            quoted += '?';
        taken += c.size;
    }
    return quoted + '"';
}

std::string json_without_controls(std::string_view json) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::uint32_t first_unescaped = 0x7F; // below it JSON's own rules hold
    std::string safe;
    safe.reserve(json.size());
    for (std::size_t taken = 0; taken < json.size();) {
        const Character c = first_character(json.substr(taken));
        if (c.valid && c.code >= first_unescaped && is_control(c.code)) {
            safe += "\\u";
            for (const unsigned shift : {12U, 8U, 4U, 0U}) safe += digits[c.code >> shift & 0xFU];
        } else {
            safe += json.substr(taken, c.size);
        }
        taken += c.size;
    }
    return safe;
}

} // namespace vramfit
