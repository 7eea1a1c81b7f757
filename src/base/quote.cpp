#include "vramfit/base/quote.hpp"

#include <cstddef>

namespace vramfit {
namespace {

constexpr std::size_t longest = 60;

/// Where to cut `text` so that no UTF-8 sequence is torn apart.
std::size_t cut_point(std::string_view text) {
    std::size_t at = longest;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
        --at;
    }
    return at;
}

} // namespace

std::string quote(std::string_view text) {
    const bool cut = text.size() > longest;
    std::string quoted = "\"";
    for (const char c : cut ? text.substr(0, cut_point(text)) : text) {
        const auto byte = static_cast<unsigned char>(c);
        quoted += byte < 0x20U || byte == 0x7FU ? '?' : c;
    }
    return quoted += cut ? "...\"" : "\"";
}

} // namespace vramfit
