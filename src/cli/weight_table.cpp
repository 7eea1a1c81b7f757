#include "cli/weight_table.hpp"

#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"

namespace vramfit::cli {
namespace {

constexpr std::size_t most_types = 4;

std::string type_list(const std::vector<WeightType>& types) {
    std::string text;
    for (std::size_t i = 0; i < types.size() && i < most_types; ++i) {
        text += (i == 0 ? "" : ", ") + std::string(traits(types[i].type).name);
    }
    return text + (types.size() > most_types ? ", ..." : "");
}

std::string group_line(std::string_view name, std::uint64_t tensors, std::uint64_t parameters, std::uint64_t bytes,
                       std::string_view types) {
    std::string line = "    " + pad_right(name, 13) + pad_left(std::to_string(tensors), 6) +
                       (tensors == 1 ? " tensor " : " tensors") + pad_left(parameters_text(parameters), 8) +
                       pad_left(mib_number(bytes), 12) + " MiB";
    return types.empty() ? line + "\n" : wrapped(line + "  ", types);
}

} // namespace

std::string mib_number(std::uint64_t bytes) {
    std::string text = format_exact_mib(bytes);
    text.resize(text.find(' '));
    return text;
}

std::string weight_table(const std::vector<WeightGroup>& groups) {
    std::string text;
    WeightGroup sum;
    for (const WeightGroup& group : groups) {
        text += group_line(group.name, group.tensors, group.parameters, group.bytes, type_list(group.types));
        sum.tensors += group.tensors;
        sum.parameters += group.parameters;
        sum.bytes += group.bytes;
    }
    return text + group_line("in the file", sum.tensors, sum.parameters, sum.bytes, "");
}

} // namespace vramfit::cli
