#include "gguf_tensors.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_map>

namespace vramfit {
namespace {

/// A tensor's full name, taken apart: "blk.LAYER.NAME", or NAME outside the blocks.
struct TensorName {
    std::int32_t layer = -1;
    std::string_view name;
};

TensorName split_name(std::string_view full) {
    constexpr std::string_view block = "blk.";
    if (!full.starts_with(block)) return {-1, full};
    std::int32_t layer = -1;
    const char* begin = full.data() + block.size();
    const char* end = full.data() + full.size();
    const auto [after, failed] = std::from_chars(begin, end, layer);
    if (failed != std::errc() || layer < 0 || after == end || *after != '.') return {-1, full};
    return {layer, full.substr(static_cast<std::size_t>(after + 1 - full.data()))};
}

/// Where llama.cpp puts tensors by the kind of their name (llama-arch.cpp, LLM_TENSOR_INFOS), for those that no
/// template knows.
TensorSection section_of(const TensorName& name) {
    if (name.layer >= 0) return TensorSection::layer;
    constexpr std::array<std::string_view, 4> inputs = {"token_embd", "position_embd", "token_types",
                                                        "per_layer_token_embd"};
    if (std::ranges::any_of(inputs, [&](std::string_view start) { return name.name.starts_with(start); }))
        return TensorSection::input;
    return name.name.starts_with("rope_") ? TensorSection::each : TensorSection::output;
}

class TensorTable {
public:
    TensorTable(Model& model, const GgufHeader& header)
        : model_(model),
          header_(header),
          n_block_(static_cast<std::int32_t>(model.n_block())) {
        const Architecture& architecture = *model.architecture;
        for (const TensorTemplate& t : architecture.tensor_templates)
            templates_.emplace(architecture.tensors.at(t.name), &t);
    }

    void add(const GgufTensor& tensor) {
        const TensorName name = split_name(tensor.name);
        if (name.layer >= n_block_)
            throw Error(header_.file + ": tensor " + quote(tensor.name) + " lies in block " +
                        std::to_string(name.layer) + ", and the model has " + std::to_string(n_block_));
        Tensor t = tensor_of(tensor);
        t.name = name_index(name.name);
        t.layer = name.layer;
        t.section = section_of(name);
        const auto known = templates_.find(name.name);
        if (known != templates_.end() && (known->second->section == TensorSection::layer) == (name.layer >= 0)) {
            t.section = known->second->section;
            t.mtp_loading = known->second->mtp_loading;
        }
        model_.tensors.push_back(t);
    }

private:
    std::uint32_t name_index(std::string_view name) {
        const auto [it, added] = names_.emplace(name, static_cast<std::uint32_t>(model_.tensor_names.size()));
        if (added) model_.tensor_names.emplace_back(name);
        return it->second;
    }

    Model& model_;
    const GgufHeader& header_;
    std::int32_t n_block_;
    std::unordered_map<std::string_view, const TensorTemplate*> templates_;
    std::unordered_map<std::string_view, std::uint32_t> names_; ///< the header's own texts
};

} // namespace

Tensor tensor_of(const GgufTensor& tensor) {
    Tensor result;
    result.ne = tensor.ne;
    result.n_dims = tensor.n_dims;
    result.type = tensor.type;
    return result;
}

void add_gguf_tensors(Model& model, const GgufHeader& header) {
    TensorTable table(model, header);
    model.tensors.reserve(header.tensors.size());
    for (const GgufTensor& tensor : header.tensors) table.add(tensor);
}

} // namespace vramfit
