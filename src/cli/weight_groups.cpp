#include "cli/weight_groups.hpp"

#include "vramfit/model/architecture.hpp"
#include "vramfit/model/quant_mix.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace vramfit::cli {
namespace {

constexpr std::array<std::string_view, 8> group_names{"embeddings", "attention", "recurrent", "feed-forward",
                                                      "experts",    "MTP",       "output",    "other"};

/// Index into `group_names`. Tensor names are llama.cpp's (llama-arch.cpp, LLM_TENSOR_NAMES).
std::size_t group_of(const Tensor& tensor, std::string_view name) {
    if (tensor.section == TensorSection::input) return 0;
    if (tensor.section == TensorSection::output) return 6;
    if (name.starts_with("nextn")) return 5;
    if (name.find("_exps") != std::string_view::npos) return 4;
    if (name.starts_with("ffn")) return 3;
    if (name.starts_with("ssm") || name.starts_with("shortconv")) return 2;
    return name.starts_with("attn") ? 1 : 7;
}

} // namespace

std::vector<WeightGroup> weight_groups(const Model& model, FileType file_type, bool imatrix) {
    const QuantMix mix = quant_mix(model, model.architecture->name, file_type, imatrix);
    std::array<WeightGroup, group_names.size()> groups;
    std::array<std::map<TensorType, std::uint64_t>, group_names.size()> bytes_of_type;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        const std::size_t index = group_of(tensor, model.name_of(tensor));
        const std::uint64_t bytes = tensor_bytes(tensor, mix.types[i]);
        ++groups[index].tensors;
        groups[index].parameters += tensor.n_elements();
        groups[index].bytes += bytes;
        bytes_of_type[index][mix.types[i]] += bytes;
    }
    std::vector<WeightGroup> result;
    for (std::size_t index = 0; index < groups.size(); ++index) {
        if (groups[index].tensors == 0) continue;
        std::vector<std::pair<std::uint64_t, TensorType>> sorted;
        for (const auto& [type, bytes] : bytes_of_type[index]) sorted.emplace_back(bytes, type);
        std::sort(sorted.rbegin(), sorted.rend());
        for (const auto& [bytes, type] : sorted) groups[index].types.push_back(traits(type).name);
        groups[index].name = group_names[index];
        result.push_back(std::move(groups[index]));
    }
    return result;
}

} // namespace vramfit::cli
