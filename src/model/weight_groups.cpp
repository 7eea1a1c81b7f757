#include "vramfit/model/weight_groups.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace vramfit {
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

/// The most bytes first; among equals the higher type, so that the order is always the same.
bool before(const WeightType& a, const WeightType& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.type > b.type;
}

} // namespace

std::vector<WeightGroup> weight_groups(const Model& model, const std::vector<TensorType>& types) {
    std::array<WeightGroup, group_names.size()> groups;
    std::array<std::map<TensorType, WeightType>, group_names.size()> by_type;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        const std::size_t index = group_of(tensor, model.name_of(tensor));
        const std::uint64_t bytes = tensor_bytes(tensor, types[i]);
        ++groups[index].tensors;
        groups[index].parameters += tensor.n_elements();
        groups[index].bytes += bytes;
        WeightType& type = by_type[index][types[i]];
        type.type = types[i];
        ++type.tensors;
        type.bytes += bytes;
    }
    std::vector<WeightGroup> result;
    for (std::size_t index = 0; index < groups.size(); ++index) {
        if (groups[index].tensors == 0) continue;
        for (const auto& [type, sum] : by_type[index]) groups[index].types.push_back(sum);
        std::ranges::sort(groups[index].types, before);
        groups[index].name = group_names[index];
        result.push_back(std::move(groups[index]));
    }
    return result;
}

} // namespace vramfit
