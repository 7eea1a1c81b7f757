#include "vramfit/base/text.hpp"

namespace vramfit {

std::string_view trimmed(std::string_view text) {
    const auto is_white = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && is_white(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
    return text;
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
