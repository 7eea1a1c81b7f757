#include "vramfit/model/tensor_type.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>
#include <cctype>

namespace vramfit {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

} // namespace

void throw_unknown_type(std::size_t id) { throw Error("ggml has no tensor type " + std::to_string(id)); }

std::optional<TensorType> tensor_type_from_id(std::uint32_t id) {
    if (id >= tensor_type_table.size() || tensor_type_table[id].block == 0) return std::nullopt;
    return static_cast<TensorType>(id);
}

std::optional<TensorType> parse_tensor_type(std::string_view name) {
    if (name.empty()) return std::nullopt; // the gaps have empty names
    for (std::size_t id = 0; id < tensor_type_table.size(); ++id) {
        if (equal_ignoring_case(tensor_type_table[id].name, name)) return static_cast<TensorType>(id);
    }
    return std::nullopt;
}

} // namespace vramfit
