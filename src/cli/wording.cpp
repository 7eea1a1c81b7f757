#include "cli/wording.hpp"

#include "cli/layout.hpp"

namespace vramfit::cli {
namespace {

constexpr std::size_t widest_name = 60;

} // namespace

Color color_of(Verdict verdict) {
    if (verdict == Verdict::fit) return Color::green;
    return verdict == Verdict::tight ? Color::yellow : Color::red;
}

std::string device_list(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size();) {
        std::size_t end = i;
        while (end < names.size() && names[end] == names[i]) ++end;
        list += list.empty() ? "" : ", ";
        if (end - i > 1) list += std::to_string(end - i) + " x ";
        list += shortened(names[i], widest_name);
        i = end;
    }
    return list;
}

std::string cache_types_text(TensorType type_k, TensorType type_v) {
    const std::string k(traits(type_k).name);
    return type_k == type_v ? k : k + "/" + std::string(traits(type_v).name);
}

} // namespace vramfit::cli
