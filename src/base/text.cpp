#include "vramfit/base/text.hpp"

namespace vramfit {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view white = " \t";
    const std::size_t first = text.find_first_not_of(white);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(white) - first + 1);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        c = lower(c);
    }
    return result;
}

} // namespace vramfit
