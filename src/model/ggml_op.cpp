#include "vramfit/model/ggml_op.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {
std::optional<Op> parse_op(std::string_view name) {
    const auto* found = std::ranges::find(op_table, name, &OpTraits::name);
    if (found == std::end(op_table))
        return std::nullopt;
    return found->op;
}

} // namespace vramfit
