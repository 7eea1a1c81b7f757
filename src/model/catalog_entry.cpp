#include "catalog_entry.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"

namespace vramfit {
namespace {

using Json = nlohmann::json;

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

} // namespace

CatalogEntry read_entry(const EntryJson& entry, std::string_view family) {
    const Json& json = entry.own;
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
    e.architecture = text_of(entry.shape(), "architecture");
    for (const Json* source : {&entry.shape(), &json}) {
        if (!source->contains("hparams")) continue;
        const Json& hparams = (*source)["hparams"];
        if (hparams.contains("context_length")) e.context_length = number_of(hparams, "context_length");
        if (hparams.contains("expert_count")) e.moe = number_of(hparams, "expert_count") > 0;
    }
    return e;
}

Model model_of_entry(const EntryJson& entry, std::shared_ptr<const Architecture> architecture) {
    const Json& shape = entry.shape();
    Model model;
    model.id = text_of(entry.own, "id");
    model.source = "catalog";
    if (!shape.contains("hparams") || !shape["hparams"].is_object())
        throw Error("catalog entry " + quote(model.id) + " has no \"hparams\"");
    read_hparams(shape["hparams"], model.hparams);
    if (!entry.like.is_null() && entry.own.contains("hparams")) read_hparams(entry.own["hparams"], model.hparams);
    model.architecture =
        architecture != nullptr ? std::move(architecture) : bundled_architecture(text_of(shape, "architecture"));
    instantiate_tensors(model, optional_tensors(shape));
    return model;
}

std::vector<std::string> optional_tensors(const Json& shape) { return texts_of(shape, "optional"); }

} // namespace vramfit
