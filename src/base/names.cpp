#include "vramfit/base/names.hpp"

#include "vramfit/base/text.hpp"

namespace vramfit {

std::string normalize_name(std::string_view name) {
    constexpr std::string_view forgiven = "-_.: ";
    std::string key;
    key.reserve(name.size());
    for (const char c : name) {
        if (forgiven.find(c) != std::string_view::npos) continue;
        key.push_back(lower(c));
    }
    return key;
}

} // namespace vramfit
