#include "vramfit/model/ggml_op.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace vramfit {
namespace {

constexpr std::size_t n_ops = std::size(op_table);

/// The table's entries in the order of their names.
constexpr std::array<const OpTraits*, n_ops> by_name = [] {
    std::array<const OpTraits*, n_ops> sorted{};
    for (std::size_t i = 0; i < n_ops; ++i) sorted[i] = &op_table[i];
    std::ranges::sort(sorted, {}, [](const OpTraits* t) { return t->name; });
    return sorted;
}();

} // namespace

std::optional<Op> parse_op(std::string_view name) {
    const auto found = std::ranges::lower_bound(by_name, name, {}, [](const OpTraits* t) { return t->name; });
    if (found == by_name.end() || (*found)->name != name) return std::nullopt;
    return (*found)->op;
}

} // namespace vramfit
