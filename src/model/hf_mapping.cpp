#include "hf_mapping.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* data_file = "hf_model_types.json";

Json table() { return Json::parse(embedded::file(data_file).value_or("{}")); }

[[noreturn]] void fail(const std::string& what) { throw Error(std::string(data_file) + ": " + what); }

/// "attention.head_count_kv[]?" without what stands behind the key.
std::string_view bare(std::string_view key) { return key.substr(0, key.find_first_of("[?")); }

/// `own` over `like`: a part that both have is merged by key, anything else is replaced.
void inherit(Json& like, const Json& own) {
    for (const auto& [part, value] : own.items()) {
        if (!value.is_object() || part == "letters" || !like.contains(part)) {
            like[part] = value;
            continue;
        }
        Json& merged = like[part];
        for (const auto& [key, item] : value.items()) {
            for (auto it = merged.begin(); it != merged.end();)
                it = bare(it.key()) == bare(key) ? merged.erase(it) : std::next(it);
            if (!item.is_null()) merged[key] = item;
        }
    }
}

Json entry(const Json& mappings, const std::string& name, int depth = 0) {
    constexpr int max_depth = 8;
    if (!mappings.contains(name) || depth > max_depth) fail("no mapping '" + name + "', or it is like itself");
    const Json& own = mappings[name];
    if (!own.contains("like")) return own;
    Json whole = entry(mappings, own["like"].get<std::string>(), depth + 1);
    if (!own.contains("model_types")) whole.erase("model_types");
    inherit(whole, own);
    return whole;
}

std::string expression_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json.dump(); }

HfMapping::Texts texts(const Json& json, const char* part) {
    HfMapping::Texts result;
    if (json.contains(part)) {
        for (const auto& [key, value] : json[part].items()) {
            if (!value.is_null()) result.emplace_back(key, expression_of(value));
        }
    }
    return result;
}

void read_hparams(const Json& json, HfMapping& mapping) {
    for (auto& [key, expression] : texts(json, "hparams")) {
        HfMapping::Rule rule{std::string(bare(key)), std::move(expression), false, false};
        rule.per_layer = key.find("[]") != std::string::npos;
        rule.omit_zero = key.ends_with('?');
        mapping.rules.push_back(std::move(rule));
    }
}

void read_lists(const Json& json, HfMapping& mapping) {
    if (json.contains("variants") && json["variants"].is_array()) {
        for (const Json& variant : json["variants"])
            mapping.variants.emplace_back(expression_of(variant["when"]), variant["use"].get<std::string>());
    }
    if (json.contains("index_lists")) {
        for (const auto& [key, first] : json["index_lists"].items())
            mapping.index_lists.emplace_back(key, first.get<double>());
    }
    if (json.contains("letters")) {
        for (const auto& [key, words] : json["letters"].items())
            mapping.letters.emplace_back(key, texts(json["letters"], key.c_str()));
    }
}

} // namespace

HfMapping hf_mapping(std::string_view name) {
    try {
        const Json all = table();
        const Json json = entry(all.at("mappings"), std::string(name));
        HfMapping mapping;
        mapping.architecture = json.at("architecture").get<std::string>();
        mapping.symbols = texts(json, "symbols");
        mapping.optional = texts(json, "optional");
        read_hparams(json, mapping);
        read_lists(json, mapping);
        return mapping;
    } catch (const Json::exception&) {
        fail("mapping '" + std::string(name) + "' is not of the kind that src/model/hf_mapping.hpp describes");
    }
}

HfModelType hf_model_type(std::string_view model_type) {
    const Json all = table();
    const std::string name(model_type);
    HfModelType result;
    if (all["unsupported"].contains(name)) result.unsupported = all["unsupported"][name].get<std::string>();
    if (all["wrappers"].contains(name)) result.wraps = all["wrappers"][name].get<std::string>();
    for (const auto& [key, value] : all["mappings"].items()) {
        if (!value.contains("model_types")) continue;
        const Json& types = value["model_types"];
        if (std::find(types.begin(), types.end(), name) != types.end()) result.mapping = key;
    }
    return result;
}

std::vector<std::string> hf_model_types() {
    const Json all = table();
    std::vector<std::string> result;
    for (const auto& [key, value] : all["wrappers"].items()) result.push_back(key);
    for (const auto& [key, value] : all["mappings"].items()) {
        if (!value.contains("model_types")) continue;
        for (const Json& type : value["model_types"]) result.push_back(type.get<std::string>());
    }
    std::sort(result.begin(), result.end());
    return result;
}

} // namespace vramfit
