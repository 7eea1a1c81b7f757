#include "vramfit/model/hf_config.hpp"

#include "hf_file.hpp"
#include "hf_keys.hpp"
#include "hf_mapping.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/evaluator.hpp"
#include "vramfit/model/safetensors.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t max_config = 16 * mib;
constexpr std::uint32_t max_blocks = 4096;                                         // as `instantiate_tensors` has it
constexpr std::string_view rule_mark = "=", tensor_mark = "?", variant_mark = "@"; // no key of a config begins so

/// The expressions of a mapping over the keys of one config.
class Translation {
public:
    Translation(const HfMapping& mapping, const HfKeys& keys) : mapping_(mapping), keys_(keys) {
        keys_model_.id = keys.shown();
        keys_model_.architecture = compile();
    }

    /// The mapping to use instead of this one; empty where this one holds.
    std::string variant() {
        set_block_count();
        Evaluator eval(keys_model_);
        for (std::size_t i = 0; i < mapping_.variants.size(); ++i) {
            if (value(eval, variant_mark, std::to_string(i)) != 0) return mapping_.variants[i].second;
        }
        return {};
    }

    void fill(Model& model, std::vector<std::string>& optional) {
        set_block_count();
        Evaluator eval(keys_model_);
        for (const HfMapping::Rule& rule : mapping_.rules) set(model.hparams, rule, eval);
        eval.enter_layer(0);
        for (const auto& [tensor, expression] : mapping_.optional) {
            if (value(eval, tensor_mark, tensor) != 0) optional.push_back(tensor);
        }
    }

private:
    /// The mapping as an architecture without tensors and graph, whose symbols are the expressions.
    std::shared_ptr<const Architecture> compile() const {
        nlohmann::ordered_json symbols;
        for (const auto& [name, expression] : mapping_.symbols) symbols[name] = expression;
        for (const auto& rule : mapping_.rules) symbols[std::string(rule_mark) + rule.key] = rule.expression;
        for (const auto& [tensor, expression] : mapping_.optional)
            symbols[std::string(tensor_mark) + tensor] = expression;
        for (std::size_t i = 0; i < mapping_.variants.size(); ++i)
            symbols[std::string(variant_mark) + std::to_string(i)] = mapping_.variants[i].first;
        nlohmann::ordered_json json;
        json["architecture"] = mapping_.architecture;
        json["symbols"] = std::move(symbols);
        json["tensors"] = nlohmann::ordered_json::object();
        for (const char* section : {"pre", "layer", "head"}) json["graph"][section] = nlohmann::ordered_json::array();
        return Architecture::parse(json.dump(), "{}", "hf_model_types.json");
    }

    /// Takes the numbers that the expressions need out of the config.
    void look_up(std::uint32_t n_block) {
        const Architecture& arch = *keys_model_.architecture;
        keys_model_.hparams = {};
        for (auto slot = static_cast<std::uint32_t>(Builtin::count); slot < arch.names.size(); ++slot) {
            if (!arch.symbols[slot].empty()) continue;
            if (auto found = keys_.find(arch.names.at(slot), mapping_, n_block))
                keys_model_.hparams.set(arch.names.at(slot), std::move(*found));
        }
    }

    /// The number of blocks comes first: the evaluator needs it to run over the layers, and lists of layers to be read.
    void set_block_count() {
        if (keys_model_.n_block() > 0) return;
        look_up(0);
        Evaluator eval(keys_model_);
        const double n = value(eval, rule_mark, "block_count");
        if (!(n >= 1) || n > max_blocks || n != std::floor(n))
            throw Error(
                fmt::format("{}: no model has {} layers; 1 to {} would be right", keys_.shown(), n, max_blocks));
        look_up(static_cast<std::uint32_t>(n));
        keys_model_.hparams.set("block_count", n);
    }

    static double value(Evaluator& eval, std::string_view mark, const std::string& name) {
        return eval.value_or(std::string(mark) + name, 0);
    }

    double checked(Evaluator& eval, const std::string& key) const {
        constexpr double largest = 9007199254740992.0; // 2^53
        const double result = value(eval, rule_mark, key);
        if (!(result >= 0) || result > largest)
            throw Error(fmt::format("{}: {} comes to {}, which no model has", keys_.shown(), key, result));
        return result;
    }

    void set(Hparams& hparams, const HfMapping::Rule& rule, Evaluator& eval) const {
        Hparams::Value numbers;
        const std::uint32_t n = rule.per_layer ? keys_model_.n_block() : 1;
        for (std::uint32_t il = 0; il < n; ++il) {
            eval.enter_layer(static_cast<std::int32_t>(il));
            numbers.push_back(checked(eval, rule.key));
        }
        eval.enter_layer(0);
        const auto is_zero = [](double number) { return number == 0; };
        if (!rule.omit_zero || !std::ranges::all_of(numbers, is_zero)) hparams.set(rule.key, std::move(numbers));
    }

    const HfMapping& mapping_;
    const HfKeys& keys_;
    Model keys_model_; // its "hyperparameters" are the keys of the config
};

/// The mapping of the config's model_type; of the text model's for a type that wraps any.
HfMapping mapping_of(const HfKeys& keys) {
    std::string type = keys.top_text("model_type");
    if (type.empty()) throw Error(keys.shown() + " has no \"model_type\", which says what kind of model it is");
    HfModelType known = hf_model_type(type);
    if (!known.wraps.empty()) {
        const std::string nested = keys.text("model_type");
        type = nested.empty() || nested == type ? known.wraps : nested;
        known = hf_model_type(type);
    }
    if (!known.unsupported.empty())
        throw Error(keys.shown() + ": model_type " + quote(type) + " cannot be sized: " + known.unsupported);
    if (known.mapping.empty()) {
        const std::vector<std::string> names = hf_model_types();
        const std::vector<std::string_view> near(names.begin(), names.end());
        throw Error(keys.shown() + ": unknown model_type " + quote(type) + did_you_mean(type, near));
    }
    HfMapping mapping = hf_mapping(known.mapping);
    while (!mapping.variants.empty()) {
        const std::string variant = Translation(mapping, keys).variant();
        if (variant.empty()) break;
        mapping = hf_mapping(variant);
    }
    return mapping;
}

void check_required(const Hparams& hparams, const std::string& shown) {
    constexpr double most = 2147483647; // what llama.cpp's positions and tokens can count
    for (const char* key : {"embedding_length", "vocab_size", "context_length"}) {
        const double value = hparams.get(key, 0);
        if (value < 1 || value > most || value != std::floor(value))
            throw Error(fmt::format("{}: {} comes to {}; 1 to {} would be right", shown, key, value, most));
    }
}

void note_mtp(const HfKeys& keys, const HfMapping& mapping, SourcedModel& loaded) {
    if (loaded.model.hparams.find("nextn_predict_layers") != nullptr) return;
    for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers"}) {
        const auto n = keys.find(key, mapping, 0);
        if (n && n->front() > 0)
            loaded.notes.emplace_back("the model's MTP block is left out, as a file converted with --no-mtp has it");
    }
}

SourcedModel translate(const Json& config, std::string_view shown, std::string_view id) {
    const HfKeys keys(config, std::string(shown));
    const HfMapping mapping = mapping_of(keys);
    SourcedModel loaded;
    Model& model = loaded.model;
    model.id = id;
    model.source = "hf";
    model.architecture = bundled_architecture(mapping.architecture);
    std::vector<std::string> optional;
    Translation(mapping, keys).fill(model, optional);
    check_required(model.hparams, keys.shown());
    try {
        instantiate_tensors(model, optional);
    } catch (const Error& e) {
        throw Error(keys.shown() + ": " + e.what());
    }
    note_mtp(keys, mapping, loaded);
    return loaded;
}

/// "meta-llama/Llama-3.1-8B" for a folder of Hugging Face's cache, else the folder's own name.
std::string folder_name(const fs::path& folder) {
    std::error_code ignored;
    fs::path whole = fs::absolute(folder, ignored).lexically_normal();
    if (whole.filename().empty()) whole = whole.parent_path();
    for (const fs::path& part : whole) {
        std::string name = part.string();
        if (!name.starts_with("models--")) continue;
        name.erase(0, std::string_view("models--").size());
        const std::size_t dashes = name.find("--");
        if (dashes != std::string::npos) name.replace(dashes, 2, "/");
        return name;
    }
    return whole.filename().string();
}

/// What sentence-transformers writes of the pooling, under the key "pooling".
void add_pooling(const fs::path& folder, Json& config) {
    const fs::path file = folder / "1_Pooling" / "config.json";
    std::error_code ignored;
    if (!config.is_object() || !fs::exists(file, ignored)) return;
    config["pooling"] = parse_bounded_json(read_text_file(file, max_config), shown_path(file));
}

void note_weights(const HfWeights& weights, SourcedModel& loaded) {
    std::string kind = weights.quantization;
    if (kind.empty() && !weights.by_dtype.empty()) kind = weights.by_dtype.front().first;
    loaded.notes.push_back("the folder holds " + format_gib(weights.bytes) + " of weights" +
                           (kind.empty() ? "" : " (" + kind + ")") + "; the figures are of a GGUF file made from them");
}

} // namespace

SourcedModel model_from_hf_config(std::string_view text, std::string_view shown, std::string_view id) {
    if (text.size() > max_config) throw Error(std::string(shown) + " has more than " + format_bytes(max_config));
    return translate(parse_bounded_json(text, shown), shown, id);
}

SourcedModel model_from_hf(const fs::path& path) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    const fs::path file = is_folder ? path / "config.json" : path;
    const fs::path folder = is_folder ? path : path.parent_path();
    if (is_folder && !fs::exists(file, ignored) && !fs::is_symlink(file, ignored))
        throw Error(quote(path.string()) + " has no config.json: no model of Hugging Face");
    const std::string shown = shown_path(file);
    Json config = parse_bounded_json(read_text_file(file, max_config), shown);
    add_pooling(folder, config);
    const std::optional<HfWeights> weights = hf_weights(folder);
    if (weights && config.is_object()) config["stored"] = {{"lm_head", weights->has_lm_head}};
    SourcedModel loaded = translate(config, shown, folder_name(folder.empty() ? fs::path(".") : folder));
    if (weights) note_weights(*weights, loaded);
    return loaded;
}

bool is_hf_model(const fs::path& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return fs::exists(path / "config.json", ignored);
    return path.filename() == "config.json";
}

} // namespace vramfit
