#include "vramfit/model/catalog.hpp"

#include "catalog_entry.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/architecture.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>

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

const embedded::Entry* entry_with_id(std::string_view id) {
    const auto models = embedded::models();
    const auto found = std::ranges::lower_bound(models, id, {}, &embedded::Entry::id);
    return found != models.end() && found->id == id ? &*found : nullptr;
}

/// The entry's JSON with that of the entry it is like.
EntryJson json_of(const embedded::Entry& entry) {
    EntryJson json{parse_entry(entry.json), nullptr};
    if (!json.own.contains("like")) return json;
    json.like = bundled_entry(json.own["like"].get<std::string>());
    if (json.like.is_null()) throw Error("catalog entry " + std::string(entry.id) + " is like an unknown model");
    return json;
}

/// The names of the bundled models, without those that only leave out an owner.
std::vector<KnownName> bundled_names() {
    const auto models = embedded::models();
    std::set<std::pair<std::uint32_t, std::string_view>> shortened;
    for (const embedded::Name& n : embedded::model_names()) {
        const std::string_view written = n.written;
        if (const auto slash = written.find('/'); slash != std::string_view::npos)
            shortened.emplace(n.entry, written.substr(slash + 1));
    }
    std::vector<KnownName> names;
    for (const embedded::Name& n : embedded::model_names()) {
        const std::string_view id = models[n.entry].id;
        if (n.written == id || !shortened.contains({n.entry, n.written})) names.emplace_back(n.written, id);
    }
    return names;
}

/// What somebody may have meant, best first: one name of each model.
std::vector<std::string> near_models(std::string_view name, std::vector<KnownName> names) {
    constexpr std::size_t most = 3;
    std::ranges::move(bundled_names(), std::back_inserter(names));
    std::vector<std::string_view> known;
    known.reserve(names.size());
    for (const auto& [written, id] : names) known.push_back(written);
    std::vector<std::string> meant;
    std::set<std::string_view> models;
    for (std::string& near : near_matches(name, known, known.size())) {
        const auto found = std::ranges::find(names, near, &KnownName::first);
        if (models.insert(found->second).second) meant.push_back(std::move(near));
        if (meant.size() == most) break;
    }
    return meant;
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
    if (entries.empty()) throw_unknown_model(name, {});
    if (entries.size() > 1) {
        std::vector<std::string> ids;
        ids.reserve(entries.size());
        for (const std::uint32_t entry : entries) ids.emplace_back(models[entry].id);
        throw Error("model " + quote(name) + " may mean " + enumerated(ids) + "; give one of these names");
    }
    return models[*entries.begin()];
}

} // namespace

void throw_unknown_model(std::string_view name, const std::vector<KnownName>& more) {
    const std::vector<std::string> meant = near_models(name, more);
    throw Error("unknown model " + quote(name) + "; " +
                (meant.empty() ? "" : "did you mean " + enumerated(meant) + "? ") +
                "'vramfit models' lists what is known");
}

nlohmann::json bundled_entry(std::string_view id) {
    const embedded::Entry* entry = entry_with_id(id);
    return entry == nullptr ? Json() : parse_entry(entry->json);
}

bool in_bundled_catalog(std::string_view name) {
    return !embedded::with_key(embedded::model_names(), normalize_name(name)).empty();
}

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
    return read_entry(json_of(entry), entry.group);
}

Model catalog_model(std::string_view name) {
    const embedded::Entry& entry = resolve(name);
    const EntryJson json = json_of(entry);
    if (json.own.contains("unsupported"))
        throw Error("llama.cpp cannot load " + std::string(entry.id) + ": " + json.own.value("unsupported", ""));
    return model_of_entry(json);
}

std::vector<CatalogEntry> catalog_entries() {
    std::vector<CatalogEntry> entries;
    for (const embedded::Entry& entry : embedded::models()) entries.push_back(read_entry(json_of(entry), entry.group));
    return entries;
}

Model model_from_entry(std::string_view json, std::shared_ptr<const Architecture> architecture) {
    return model_of_entry({parse_entry(json), nullptr}, std::move(architecture));
}

} // namespace vramfit
