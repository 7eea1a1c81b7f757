#include "vramfit/base/names.hpp"

namespace vramfit {

std::string normalize_name(std::string_view name) {
    constexpr std::string_view forgiven = "-_.: ";
    std::string key;
    key.reserve(name.size());
    for (const char c : name) {
        if (forgiven.find(c) != std::string_view::npos) continue;
        // Not std::tolower: names are the same whatever the locale.
        key.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    return key;
}

} // namespace vramfit
