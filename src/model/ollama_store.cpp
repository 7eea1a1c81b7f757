#include "vramfit/model/ollama_store.hpp"

#include "hf_file.hpp"
#include "store_folder.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_manifest = 4 * mib; // models of thousands of safetensors layers have 1 MiB
constexpr std::uint64_t largest_params = 64 * kib;
constexpr std::size_t longest_part = 80; // types/model/name.go
constexpr std::size_t longest_host = 350;

/// Letters, digits and `-`, `_`, `.`, not one of the last at the beginning: no part can lead out of its folder.
bool is_part(std::string_view part, bool host) {
    const auto word = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const auto good = [&](char c) { return word(c) || c == '-' || c == '.' || (host && c == ':'); };
    return !part.empty() && part.size() <= (host ? longest_host : longest_part) && word(part.front()) &&
           std::ranges::all_of(part, good);
}

[[noreturn]] void throw_no_name(std::string_view text) {
    throw Error(quote(text) + " is no name of an Ollama model; one such as llama3.1:8b would be right");
}

fs::path manifest_path(const fs::path& store, const OllamaName& name) {
    return store / "manifests" / name.host / name.space / name.model / name.tag;
}

/// The name that a manifest's place stands for, or nothing.
std::optional<OllamaName> name_at(const fs::path& manifests, const fs::path& file) {
    std::vector<std::string> parts;
    for (const fs::path& part : file.lexically_relative(manifests)) parts.push_back(part.string());
    if (parts.size() != 4) return std::nullopt;
    OllamaName name{parts[0], parts[1], parts[2], parts[3]};
    const bool good = is_part(name.host, true) && is_part(name.space, false) && is_part(name.model, false) &&
                      is_part(name.tag, false);
    return good ? std::optional(name) : std::nullopt;
}

struct StoredName {
    OllamaName name;
    fs::path store, manifest;
};

std::vector<StoredName> stored_names(const Environment& environment) {
    constexpr int depth_of_tags = 3;
    std::vector<StoredName> names;
    for (const std::string& folder : ollama_folders(environment)) {
        const fs::path manifests = fs::path(folder) / "manifests";
        for (const FoundFile& file : files_in(manifests, depth_of_tags)) {
            if (const auto name = name_at(manifests, file.path)) names.push_back({*name, folder, file.path});
        }
    }
    return names;
}

[[noreturn]] void throw_unknown(const OllamaName& name, const std::vector<StoredName>& stored,
                                const Environment& environment) {
    if (stored.empty()) {
        const auto folders = ollama_folders(environment);
        throw Error(
            "no Ollama model is installed" +
            (folders.empty() ? ": neither OLLAMA_MODELS nor HOME tells where" : ": none in " + quote(folders.front())) +
            "; OLLAMA_MODELS names another folder");
    }
    std::vector<std::string> names;
    names.reserve(stored.size());
    for (const StoredName& s : stored) names.push_back(s.name.text());
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string hint = did_you_mean(name.text(), known);
    throw Error("Ollama has no model " + quote(name.text()) +
                (hint.empty() ? "; 'vramfit models --installed' lists what there is" : hint));
}

/// Ollama forgives letter case.
StoredName find_stored(const OllamaName& name, const Environment& environment) {
    for (const std::string& folder : ollama_folders(environment)) {
        const fs::path manifest = manifest_path(folder, name);
        std::error_code ignored;
        if (fs::exists(manifest, ignored)) return {name, folder, manifest};
    }
    const auto stored = stored_names(environment);
    const std::string wanted = lower(name.text());
    const auto found =
        std::ranges::find_if(stored, [&](const StoredName& s) { return lower(s.name.text()) == wanted; });
    if (found == stored.end()) throw_unknown(name, stored, environment);
    return *found;
}

/// A file of the store: there, and in it.
fs::path checked_file(const fs::path& path, const fs::path& store, const std::string& what) {
    std::error_code failed;
    if (!fs::exists(path, failed))
        throw Error(what + " is missing from Ollama's store: no file " + quote(path.filename().string()) +
                    "; 'ollama pull' fetches it again");
    if (!lies_in(path, store))
        throw Error(what + " is a link that leads out of Ollama's store: " + quote(path.filename().string()));
    return path;
}

/// The file of a layer: its digest with ':' replaced by '-'.
std::string blob(const StoredName& stored, std::string digest, std::string_view what) {
    std::ranges::replace(digest, ':', '-');
    const fs::path path = stored.store / "blobs" / digest;
    return checked_file(path, stored.store, "the " + std::string(what) + " of " + quote(stored.name.text())).string();
}

OllamaManifest manifest_of(const StoredName& stored) {
    const std::string shown = "the manifest of " + quote(stored.name.text());
    checked_file(stored.manifest, stored.store, shown);
    return parse_ollama_manifest(read_text_file(stored.manifest, largest_manifest), shown);
}

[[noreturn]] void throw_without_file(const OllamaName& name, const OllamaManifest& manifest) {
    throw Error("Ollama's model " + quote(name.text()) + " has no GGUF file: " +
                (manifest.safetensors ? "it is kept as safetensors" : "it has no weights on this computer"));
}

} // namespace

std::vector<std::string> ollama_folders(const Environment& environment) {
    if (const auto folder = set_variable(environment, "OLLAMA_MODELS")) return {*folder};
    std::vector<std::string> folders;
    if (const auto home = home_folder(environment)) folders.push_back((*home / ".ollama" / "models").string());
#if defined(__linux__)
    folders.emplace_back("/usr/share/ollama/.ollama/models");
#endif
    return folders;
}

std::string OllamaName::text() const {
    const OllamaName usual;
    std::string text = model + ":" + tag;
    if (host != usual.host) return host + "/" + space + "/" + text;
    return space != usual.space ? space + "/" + text : text;
}

OllamaName parse_ollama_name(std::string_view text) {
    OllamaName name;
    std::string_view rest = text;
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string_view::npos && rest.find('/', colon) == std::string_view::npos) {
        name.tag = rest.substr(colon + 1);
        rest = rest.substr(0, colon);
    }
    std::vector<std::string_view> parts;
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
        parts.push_back(rest.substr(0, slash));
        rest.remove_prefix(slash + 1);
    }
    parts.push_back(rest);
    if (parts.size() > 3) throw_no_name(text);
    name.model = parts.back();
    if (parts.size() > 1) name.space = parts[parts.size() - 2];
    if (parts.size() > 2) name.host = parts.front();
    const bool good = is_part(name.host, true) && is_part(name.space, false) && is_part(name.model, false) &&
                      is_part(name.tag, false);
    if (!good) throw_no_name(text);
    return name;
}

OllamaModel find_ollama_model(std::string_view name, const Environment& environment) {
    const StoredName stored = find_stored(parse_ollama_name(name), environment);
    const OllamaManifest manifest = manifest_of(stored);
    if (!manifest.model) throw_without_file(stored.name, manifest);
    OllamaModel model;
    model.name = stored.name.text();
    model.file = blob(stored, *manifest.model, "GGUF file");
    if (manifest.projector) model.projector = blob(stored, *manifest.projector, "projector");
    if (manifest.draft) model.draft = blob(stored, *manifest.draft, "draft model");
    for (const std::string& adapter : manifest.adapters) model.adapters.push_back(blob(stored, adapter, "adapter"));
    if (manifest.params) {
        const std::string shown = "the parameters of " + quote(model.name);
        model.n_ctx = parse_ollama_params(
            read_text_file(blob(stored, *manifest.params, "parameter file"), largest_params), shown);
    }
    return model;
}

std::vector<OllamaListing> list_ollama_models(const Environment& environment) {
    std::vector<OllamaListing> models;
    for (const StoredName& stored : stored_names(environment)) {
        OllamaListing& model = models.emplace_back();
        model.name = stored.name.text();
        try {
            model.bytes = manifest_of(stored).bytes;
        } catch (const Error&) {
            model.bytes = 0; // it is there, but broken: asking for it says how
        }
    }
    std::ranges::sort(models, {}, &OllamaListing::name);
    return models;
}

} // namespace vramfit
