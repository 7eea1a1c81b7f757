#include "vramfit/model/weight_format.hpp"

#include "vramfit/model/architecture.hpp"

#include "tensor_role.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace vramfit {
namespace {

using nlohmann::json;
using Scope = WeightFormat::Scope;

Scope scope_of(const std::string& name) {
    if (name == "all") return Scope::all;
    if (name == "linear") return Scope::linear;
    if (name == "linear_and_embeddings") return Scope::linear_and_embeddings;
    if (name == "experts") return Scope::experts;
    throw Error("weight_formats.json: unknown scope " + quote(name));
}

WeightFormat read_format(const json& entry) {
    WeightFormat format;
    format.id = entry.at("id");
    format.aliases = entry.at("aliases").get<std::vector<std::string>>();
    format.scope = scope_of(entry.at("scope"));
    format.bits = entry.at("bits");
    format.row_bits = entry.value("row_bits", 0.0);
    format.rest_bits = entry.at("rest_bits");
    format.description = entry.at("description");
    format.source = entry.at("source");
    return format;
}

json document() { return json::parse(embedded::file("weight_formats.json").value()); }

std::vector<WeightFormat> read_formats() {
    const json read = document();
    std::vector<WeightFormat> formats;
    for (const json& entry : read.at("formats")) formats.push_back(read_format(entry));
    return formats;
}

bool is_quantized(const Tensor& tensor, std::string_view name, Scope scope) {
    if (scope == Scope::all) return true;
    if (tensor.n_dims < 2) return false;
    const TensorRole role = tensor_role(name);
    if (role == TensorRole::kept) return false;
    switch (scope) {
    case Scope::experts: return name.find("_exps") != std::string_view::npos;
    case Scope::linear_and_embeddings: return true;
    default: return role != TensorRole::output && role != TensorRole::embedding;
    }
}

} // namespace

const std::vector<WeightFormat>& weight_formats() {
    static const std::vector<WeightFormat> formats = read_formats();
    return formats;
}

const WeightFormat* weight_format_named(std::string_view name) {
    const std::string key = normalize_name(name);
    for (const WeightFormat& format : weight_formats()) {
        const auto is_key = [&](const std::string& known) { return normalize_name(known) == key; };
        if (is_key(format.id) || std::ranges::any_of(format.aliases, is_key)) return &format;
    }
    return nullptr;
}

const WeightFormat& find_weight_format(std::string_view name) {
    if (const WeightFormat* format = weight_format_named(name)) return *format;
    std::vector<std::string_view> known;
    for (const WeightFormat& format : weight_formats()) known.push_back(format.id);
    const std::string hint = did_you_mean(name, known);
    throw Error("unknown weight format " + quote(name) +
                (hint.empty() ? "; 'vramfit quants' lists all, such as bf16, fp8 or awq" : hint));
}

const WeightFormat& published_format(const Model& model) {
    const json read = document();
    for (const json& entry : read.at("published")) {
        const json& models = entry.at("models");
        if (std::find(models.begin(), models.end(), model.id) != models.end())
            return find_weight_format(entry.at("format").get<std::string>());
    }
    return find_weight_format("bf16");
}

std::vector<FileType> file_types_of(const Model& model) {
    std::vector<FileType> types(published_file_types.begin(), published_file_types.end());
    const bool moe = model.hparams.get("expert_count", 0) > 0;
    if (moe && published_format(model).id != "mxfp4") return types;
    std::erase(types, FileType::mxfp4_moe); // of a model without experts it is Q8_0 under another name
    if (moe) types.insert(types.begin(), FileType::mxfp4_moe);
    // Weights of three values, as they were trained (tools/quantize/quantize.cpp, TQ1_0 and TQ2_0).
    if (model.architecture->name == "bitnet") types.insert(types.end(), {FileType::tq2_0, FileType::tq1_0});
    return types;
}

FileType usual_file_type(const Model& model) {
    return file_types_of(model).front() == FileType::mxfp4_moe ? FileType::mxfp4_moe : FileType::q4_k_m;
}

double rank_share(const Model& model, const Tensor& tensor, std::uint32_t n_ranks) {
    const std::string_view name = model.name_of(tensor);
    const bool latent = name.starts_with("attn_q_a") || name.starts_with("attn_kv_a");
    if (n_ranks < 2 || tensor.n_dims < 2 || latent || tensor_role(name) == TensorRole::kept) return 1;
    if (name == "attn_k.weight" || name == "attn_v.weight") {
        const auto layer = static_cast<std::size_t>(std::max(0, tensor.layer));
        const double heads = model.hparams.get("attention.head_count_kv", 0, layer);
        if (heads >= 1 && heads < n_ranks) return 1 / heads;
    }
    return 1.0 / n_ranks;
}

std::uint64_t checkpoint_bytes(const Model& model, const Tensor& tensor, const WeightFormat& format) {
    if (tensor.section == TensorSection::each) return 0;
    const auto elements = static_cast<double>(tensor.n_elements());
    const bool quantized = is_quantized(tensor, model.name_of(tensor), format.scope);
    const double bits = quantized ? elements * format.bits + static_cast<double>(tensor.n_rows()) * format.row_bits
                                  : elements * format.rest_bits;
    return static_cast<std::uint64_t>(std::ceil(bits / 8));
}

std::uint64_t checkpoint_bytes(const Model& model, const WeightFormat& format, bool mtp) {
    std::uint64_t sum = 0;
    for (const Tensor& tensor : model.tensors) {
        const bool of_mtp = tensor.layer >= static_cast<std::int32_t>(model.n_layer());
        if (mtp || !of_mtp) sum = checked_add(sum, checkpoint_bytes(model, tensor, format), "the checkpoint");
    }
    return sum;
}

} // namespace vramfit
