#include "published_model.hpp"

#include "answer/model_name.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/ollama_store.hpp"
#include "vramfit/model/user_catalog.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace vramfit {
namespace {

bool exists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

/// The id of the catalog's model, where it is a bundled one.
std::string id_of(const std::string& name) {
    try {
        return find_catalog_entry(name).id;
    } catch (const Error&) {
        return name;
    }
}

std::optional<std::string> in_catalog(const ModelName& parts, const ModelSources& sources) {
    for (const std::string& spelling : parts.spellings) {
        if (in_catalogs(spelling, sources)) return spelling;
    }
    return std::nullopt;
}

/// "NAME is not here: sized from the catalog as ID, Q4_K_M". `why` is what stands behind the name.
/// `typed`: where the name says no type it is the usual one.
PublishedModel sized_from_catalog(const std::string& text, const std::string& name, const ModelName& parts, bool typed,
                                  std::string_view why, const ModelSources& sources) {
    PublishedModel model;
    model.name = name;
    model.note = quote(text) + std::string(why) + " sized from the catalog as " + id_of(name);
    if (!parts.quant.empty())
        model.quant = parts.quant;
    else if (typed)
        model.quant = traits(usual_file_type(catalog_model(name, sources))).name;
    if (model.quant) model.note += ", " + *model.quant;
    if (parts.near) model.note += ", which " + parts.type + " is near";
    if (parts.quant.empty() && model.quant) model.note += " (the name says no type)";
    return model;
}

/// OWNER/REPOSITORY:TYPE: the part behind the colon is a type, not a tag of the model.
std::pair<std::string, std::string> cut_type(const std::string& text, char mark) {
    const std::size_t at = text.find_last_of(mark);
    if (at == std::string::npos || at == 0) return {text, ""};
    return {text.substr(0, at), text.substr(at + 1)};
}

PublishedModel by_name(const std::string& text, const std::string& name, const std::string& type, bool typed,
                       std::string_view why, const ModelSources& sources) {
    const ModelName parts = take_apart(type.empty() ? name : name + "-" + type);
    if (const auto found = in_catalog(parts, sources))
        return sized_from_catalog(text, *found, parts, typed, why, sources);
    return {name, std::nullopt, ""};
}

PublishedModel file(const std::string& text, const ModelSources& sources) {
    if (exists(text)) return {text, std::nullopt, ""};
    const std::string name = text.substr(0, text.find('?')); // of a URL
    const ModelName parts = take_apart(name);
    if (const auto found = in_catalog(parts, sources))
        return sized_from_catalog(text, *found, parts, false, " is not here:", sources);
    return {text, std::nullopt, ""};
}

/// "qwen3:0.6b", "qwen3:1.7b": the first few models of the catalog that a name without a size may mean.
std::vector<std::string> sizes_of(const std::string& name) {
    constexpr std::size_t most = 3;
    std::vector<std::string> sizes;
    if (name.find(':') != std::string::npos) return sizes;
    const std::string front = lower(name) + "-";
    for (const embedded::Entry& entry : embedded::models()) {
        const std::string_view rest = entry.id.starts_with(front) ? entry.id.substr(front.size()) : "";
        if (rest.empty() || rest.front() < '0' || rest.front() > '9') continue;
        sizes.push_back(name + ":" + std::string(rest));
        if (sizes.size() == most) break;
    }
    return sizes;
}

/// Tags of Ollama's library carry the type at their end: "8b-instruct-q8_0".
PublishedModel of_ollama(const std::string& text, const ModelSources& sources) {
    if (exists(text) && text.find('/') != std::string::npos) return {text, std::nullopt, ""};
    try {
        return {"ollama:" + find_ollama_model(text, sources.environment).name, std::nullopt, ""};
    } catch (const Error&) { // not in the store: the catalog may know it
    }
    if (text.starts_with("hf.co/") || text.starts_with("huggingface.co/"))
        return find_published(text.substr(text.find('/') + 1), "gguf_repository", sources);
    std::string name = text;
    if (name.ends_with(":latest")) name.resize(name.size() - std::string_view(":latest").size());
    if (const std::string tag = default_ollama_tag(name); !tag.empty()) name += ":" + tag;
    PublishedModel model = by_name(text, name, "", true, " is not in Ollama's store here:", sources);
    if (!model.note.empty()) return model;
    if (const std::vector<std::string> sizes = sizes_of(name); !sizes.empty())
        throw Error(quote(text) + " is not in Ollama's store here, and says no size; give it one, such as " +
                    enumerated(sizes, "or"));
    model.name = "ollama:" + text; // whose error says where the store is
    return model;
}

} // namespace

PublishedModel find_published(const std::string& text, std::string_view kind, const ModelSources& sources) {
    if (kind == "file") return file(text, sources);
    if (kind == "ollama") return of_ollama(text, sources);
    if (kind == "lmstudio") {
        if (exists(text)) return {text, std::nullopt, ""};
        const auto [name, type] = cut_type(text, '@');
        return by_name(text, name, type, true, " is", sources);
    }
    if (kind == "gguf_repository") {
        const auto [name, type] = cut_type(text, ':');
        return by_name(text, name, type, true, " is", sources);
    }
    if (exists(text)) return {text, std::nullopt, ""};
    return by_name(text, text, "", false, " is", sources);
}

} // namespace vramfit
