#include "own_catalog.hpp"

#include "hf_file.hpp"
#include "json_lines.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/architecture.hpp"

#include <array>
#include <map>
#include <set>

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t largest_catalog = 4 * mib; // ten times the bundled one

enum class Kind : std::uint8_t { text, count, texts, numbers };

struct Key {
    std::string_view name;
    Kind kind;
};

constexpr std::array<Key, 14> entry_keys{{{"id", Kind::text},
                                          {"aliases", Kind::texts},
                                          {"architecture", Kind::text},
                                          {"like", Kind::text},
                                          {"parameters", Kind::count},
                                          {"active_parameters", Kind::count},
                                          {"license", Kind::text},
                                          {"released", Kind::text},
                                          {"hparams", Kind::numbers},
                                          {"optional", Kind::texts},
                                          {"sources", Kind::texts},
                                          {"unsupported", Kind::text},
                                          {"family", Kind::text},
                                          {"note", Kind::text}}};

/// The names of an entry: its id first.
std::vector<std::string_view> names_of(const Json& entry) {
    std::vector<std::string_view> names{entry["id"].get_ref<const std::string&>()};
    if (entry.contains("aliases")) {
        for (const Json& alias : entry["aliases"]) names.emplace_back(alias.get_ref<const std::string&>());
    }
    return names;
}

bool has_name(const Json& entry, std::string_view name) {
    for (const std::string_view known : names_of(entry)) {
        if (known == name) return true;
    }
    return false;
}

bool may_mean(const Json& entry, const std::string& normal_name) {
    for (const std::string_view known : names_of(entry)) {
        if (normalize_name(known) == normal_name) return true;
    }
    return false;
}

bool is_number(const Json& value) { return value.is_number() || value.is_boolean(); }

} // namespace

OwnCatalog::OwnCatalog(std::string text, std::string shown) : text_(std::move(text)), shown_(std::move(shown)) {
    document_ = parse_bounded_json(text_, shown_);
    if (const auto repeated = repeated_key(text_)) fail(*repeated, "stands there twice");
    check();
}

OwnCatalog OwnCatalog::of_file(const std::string& path) {
    return {read_text_file(path, largest_catalog), shown_path(path)};
}

void OwnCatalog::fail(const std::string& place, const std::string& message) const {
    const std::string key = place.substr(place.rfind('/') + 1);
    const bool is_key = key.find_first_not_of("0123456789") != std::string::npos;
    throw Error(shown_ + ", line " + std::to_string(line_of(text_, place)) + ": " + (is_key ? quote(key) + " " : "") +
                message);
}

std::string OwnCatalog::place_of(std::size_t index) const { return single_ ? "" : "/models/" + std::to_string(index); }

void OwnCatalog::check() {
    if (!document_.is_object()) fail("", "a catalog is an object with a list \"models\"");
    single_ = document_.contains("id") && !document_.contains("models");
    if (single_) document_ = Json{{"models", Json::array({document_})}};
    if (!document_.contains("models")) fail("", "a catalog has a list \"models\", or is one entry with an \"id\"");
    if (document_.contains("family") && !document_["family"].is_string()) fail("/family", "must be a text");
    if (!document_["models"].is_array()) fail("/models", "is not a list of entries");
    for (std::size_t i = 0; i < size(); ++i) check_entry(i);
    check_names();
    for (std::size_t i = 0; i < size(); ++i) check_like(place_of(i), entry(i));
}

void OwnCatalog::check_entry(std::size_t index) const {
    const std::string place = place_of(index);
    const Json& json = entry(index);
    if (!json.is_object()) fail(place, "an entry is an object");
    for (const auto& [key, value] : json.items()) {
        const std::string here = place + "/" + key;
        const auto* const known = std::find_if(entry_keys.begin(), entry_keys.end(),
                                               [&, &name = key](const Key& k) { return k.name == name; });
        if (known == entry_keys.end()) {
            std::vector<std::string_view> names;
            names.reserve(entry_keys.size());
            for (const Key& k : entry_keys) names.push_back(k.name);
            fail(here, "is no key of an entry" + did_you_mean(key, names));
        }
        switch (known->kind) {
        case Kind::text:
            if (!value.is_string() || value.get_ref<const std::string&>().empty()) fail(here, "must be a text");
            break;
        case Kind::count:
            if (!value.is_number_unsigned()) fail(here, "must be a whole number, 0 or more");
            break;
        case Kind::texts: check_texts(here, value); break;
        case Kind::numbers: check_hparams(here, value); break;
        }
    }
    if (!json.contains("id")) fail(place, "an entry needs an \"id\"");
    if (json.contains("like")) return;
    if (!json.contains("architecture"))
        fail(place, "an entry needs an \"architecture\", or another that it is \"like\"");
    if (!json.contains("hparams")) fail(place, "an entry needs \"hparams\", or another that it is \"like\"");
}

void OwnCatalog::check_texts(const std::string& place, const Json& list) const {
    if (!list.is_array()) fail(place, "must be a list of texts");
    for (const Json& item : list) {
        if (!item.is_string()) fail(place, "must hold nothing but texts");
    }
}

void OwnCatalog::check_hparams(const std::string& place, const Json& hparams) const {
    if (!hparams.is_object()) fail(place, "must be an object of numbers");
    for (const auto& [key, value] : hparams.items()) {
        bool good = is_number(value) || value.is_array();
        if (value.is_array()) {
            for (const Json& item : value) good = good && is_number(item);
        }
        if (!good) fail(place + "/" + key, "must be a number, or a list with one for each layer");
    }
}

void OwnCatalog::check_names() const {
    std::map<std::string_view, std::size_t> owners;
    for (std::size_t i = 0; i < size(); ++i) {
        for (const std::string_view name : names_of(entry(i))) {
            const auto [owner, added] = owners.try_emplace(name, i);
            if (added) continue;
            const bool is_id = name == names_of(entry(i)).front();
            fail(place_of(i) + (is_id ? "/id" : "/aliases"),
                 quote(name) + " is a name of " + quote(names_of(entry(owner->second)).front()) + ", too");
        }
    }
}

void OwnCatalog::check_like(const std::string& place, const Json& json) const {
    if (!json.contains("like")) return;
    const auto& other = json["like"].get_ref<const std::string&>();
    const auto own = std::find_if(entries().begin(), entries().end(), [&](const Json& e) { return e["id"] == other; });
    const Json target = own != entries().end() ? *own : bundled_entry(other);
    if (target.is_null()) fail(place + "/like", "names " + quote(other) + ", which is no model's id");
    if (target.contains("like"))
        fail(place + "/like", "names " + quote(other) + ", which is itself like " +
                                  quote(target["like"].get_ref<const std::string&>()) + ": name that one");
}

std::optional<std::size_t> OwnCatalog::find(std::string_view name) const {
    for (std::size_t i = 0; i < size(); ++i) {
        if (has_name(entry(i), name)) return i;
    }
    std::vector<std::size_t> meant;
    const std::string normal_name = normalize_name(name);
    for (std::size_t i = 0; i < size(); ++i) {
        if (may_mean(entry(i), normal_name)) meant.push_back(i);
    }
    if (meant.empty()) return std::nullopt;
    if (meant.size() == 1) return meant.front();
    std::vector<std::string> ids;
    ids.reserve(meant.size());
    for (const std::size_t i : meant) ids.push_back(quote(names_of(entry(i)).front()));
    throw Error("model " + quote(name) + " may mean " + enumerated(ids) + " of " + shown_ +
                "; give one of these names");
}

EntryJson OwnCatalog::json_of(std::size_t index) const {
    EntryJson json{entry(index), nullptr};
    if (!json.own.contains("like")) return json;
    const auto& other = json.own["like"].get_ref<const std::string&>();
    const auto own = std::find_if(entries().begin(), entries().end(), [&](const Json& e) { return e["id"] == other; });
    json.like = own != entries().end() ? *own : bundled_entry(other);
    return json;
}

Model OwnCatalog::model(std::size_t index) const {
    const EntryJson json = json_of(index);
    const std::string id(names_of(json.own).front());
    if (json.own.contains("unsupported"))
        throw Error("llama.cpp cannot load " + quote(id) + ": " +
                    quote(json.own["unsupported"].get_ref<const std::string&>()));
    try {
        return model_of_entry(json);
    } catch (const Error& error) { // about a hyperparameter or the architecture: the entry is at fault
        fail(place_of(index), error.what());
    }
}

CatalogEntry OwnCatalog::description(std::size_t index) const {
    const std::string family = document_.value("family", entry(index).value("family", ""));
    return read_entry(json_of(index), family);
}

std::vector<KnownName> OwnCatalog::names() const {
    std::vector<KnownName> names;
    for (const Json& json : entries()) {
        const auto all = names_of(json);
        for (const std::string_view name : all) names.emplace_back(name, all.front());
    }
    return names;
}

} // namespace vramfit
