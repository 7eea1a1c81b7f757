#include "vramfit/model/catalog.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/architecture.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace vramfit {
namespace {

using Json = nlohmann::json;

Json parse_entry(std::string_view text) {
    try {
        return Json::parse(text);
    } catch (const Json::exception&) {
        throw Error("a catalog entry is not valid JSON");
    }
}

std::string text_of(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

std::uint64_t number_of(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_number_unsigned() ? json[key].get<std::uint64_t>() : 0;
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
    std::vector<std::string> result;
    if (json.contains(key)) {
        for (const Json& item : json[key]) {
            if (!item.is_string())
                throw Error("\"" + std::string(key) + "\" of a catalog entry holds something else than text");
            result.push_back(item.get<std::string>());
        }
    }
    return result;
}

const embedded::Entry* entry_with_id(std::string_view id) {
    const auto models = embedded::models();
    const auto found = std::ranges::lower_bound(models, id, {}, &embedded::Entry::id);
    return found != models.end() && found->id == id ? &*found : nullptr;
}

/// What somebody may have meant, best first: one name of each model.
std::vector<std::string> near_models(std::string_view name) {
    constexpr std::size_t most = 3;
    const auto names = embedded::model_names();
    std::vector<std::string_view> known;
    for (const embedded::Name& n : names) known.push_back(n.written);
    std::vector<std::string> meant;
    std::set<std::uint32_t> entries;
    for (std::string& near : near_matches(name, known, known.size())) {
        const auto found = std::ranges::find(names, near, &embedded::Name::written);
        if (entries.insert(found->entry).second) meant.push_back(std::move(near));
        if (meant.size() == most) break;
    }
    return meant;
}

/// Whether a model's name reads as a file: of GGUF, or a path at which there is one.
bool is_file(std::string_view name) {
    if (lower(name).ends_with(".gguf")) return true;
    std::error_code ignored;
    return name.find_first_of("/\\") != std::string_view::npos &&
           std::filesystem::is_regular_file(std::filesystem::path(name), ignored);
}

[[noreturn]] void throw_unknown(std::string_view name) {
    constexpr std::string_view list = "'vramfit models' lists what is known";
    if (is_file(name)) throw Error(quote(name) + " is a file, and files are not read yet; " + std::string(list));
    const std::vector<std::string> meant = near_models(name);
    throw Error("unknown model " + quote(name) + "; " +
                (meant.empty() ? "" : "did you mean " + enumerated(meant) + "? ") + std::string(list));
}

/// The entry that a typed name means.
const embedded::Entry& resolve(std::string_view name) {
    const auto models = embedded::models();
    const auto fitting = embedded::with_key(embedded::model_names(), normalize_name(name));
    std::set<std::uint32_t> entries;
    for (const embedded::Name& n : fitting) {
        if (n.written == name) return models[n.entry];
        entries.insert(n.entry);
    }
    if (entries.empty()) throw_unknown(name);
    if (entries.size() > 1) {
        std::string which;
        for (const std::uint32_t entry : entries)
            which += (which.empty() ? "" : " or ") + std::string(models[entry].id);
        throw Error("model " + quote(name) + " may mean " + which + "; give one of these names");
    }
    return models[*entries.begin()];
}

double number(const Json& value, const std::string& key) {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_number()) throw Error("hyperparameter '" + key + "' is not a number");
    return value.get<double>();
}

void read_hparams(const Json& json, Hparams& hparams) {
    for (const auto& [key, value] : json.items()) {
        Hparams::Value numbers;
        if (value.is_array()) {
            for (const Json& element : value) numbers.push_back(number(element, key));
        } else {
            numbers.push_back(number(value, key));
        }
        hparams.set(key, std::move(numbers));
    }
}

CatalogEntry read_entry(const Json& json, std::string_view family) {
    CatalogEntry e;
    e.id = text_of(json, "id");
    e.family = family;
    e.aliases = texts_of(json, "aliases");
    e.parameters = number_of(json, "parameters");
    e.active_parameters = number_of(json, "active_parameters");
    e.license = text_of(json, "license");
    e.released = text_of(json, "released");
    e.sources = texts_of(json, "sources");
    e.unsupported = text_of(json, "unsupported");
    e.architecture = text_of(json, "architecture");
    const Json* shape = &json;
    Json like;
    if (json.contains("like")) {
        const embedded::Entry* other = entry_with_id(json["like"].get<std::string>());
        if (other == nullptr) throw Error("catalog entry " + e.id + " is like an unknown model");
        like = parse_entry(other->json);
        e.architecture = text_of(like, "architecture");
        shape = &like;
    }
    for (const Json* source : {shape, &json}) {
        if (!source->contains("hparams")) continue;
        const Json& hparams = (*source)["hparams"];
        if (hparams.contains("context_length")) e.context_length = number_of(hparams, "context_length");
        if (hparams.contains("expert_count")) e.moe = number_of(hparams, "expert_count") > 0;
    }
    return e;
}

Model model_of(const Json& json, const Json* like, std::shared_ptr<const Architecture> architecture) {
    const Json& shape = like != nullptr ? *like : json;
    Model model;
    model.id = text_of(json, "id");
    model.source = "catalog";
    if (!shape.contains("hparams") || !shape["hparams"].is_object())
        throw Error("catalog entry " + quote(model.id) + " has no \"hparams\"");
    read_hparams(shape["hparams"], model.hparams);
    if (like != nullptr && json.contains("hparams")) read_hparams(json["hparams"], model.hparams);
    model.architecture =
        architecture != nullptr ? std::move(architecture) : bundled_architecture(text_of(shape, "architecture"));
    instantiate_tensors(model, texts_of(shape, "optional"));
    return model;
}

} // namespace

std::shared_ptr<const Architecture> bundled_architecture(std::string_view name) {
    const auto json = embedded::file("architectures/" + std::string(name) + ".json");
    if (!json || name == "common") {
        std::vector<std::string_view> known;
        constexpr std::string_view folder = "architectures/";
        for (std::string_view path : embedded::files()) {
            if (path.starts_with(folder) && path.ends_with(".json")) {
                path.remove_prefix(folder.size());
                known.push_back(path.substr(0, path.size() - 5));
            }
        }
        throw Error("no description of architecture " + quote(name) + did_you_mean(name, known));
    }
    return Architecture::parse(*json, "{}", std::string(name) + ".json"); // embedded with what it uses of common.json
}

CatalogEntry find_catalog_entry(std::string_view name) {
    const embedded::Entry& entry = resolve(name);
    return read_entry(parse_entry(entry.json), entry.group);
}

Model catalog_model(std::string_view name) {
    const embedded::Entry& entry = resolve(name);
    const Json json = parse_entry(entry.json);
    if (json.contains("unsupported"))
        throw Error("llama.cpp cannot load " + std::string(entry.id) + ": " + text_of(json, "unsupported"));
    if (!json.contains("like")) return model_of(json, nullptr, nullptr);
    const embedded::Entry* other = entry_with_id(text_of(json, "like"));
    if (other == nullptr) throw Error("catalog entry " + std::string(entry.id) + " is like an unknown model");
    const Json like = parse_entry(other->json);
    return model_of(json, &like, nullptr);
}

std::vector<CatalogEntry> catalog_entries() {
    std::vector<CatalogEntry> entries;
    for (const embedded::Entry& entry : embedded::models())
        entries.push_back(read_entry(parse_entry(entry.json), entry.group));
    return entries;
}

Model model_from_entry(std::string_view json, std::shared_ptr<const Architecture> architecture) {
    return model_of(parse_entry(json), nullptr, std::move(architecture));
}

} // namespace vramfit
