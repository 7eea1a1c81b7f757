#include "vramfit/model/user_catalog.hpp"

#include "own_catalog.hpp"
#include "store_folder.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

/// The folder of a user's settings (XDG Base Directory Specification; Windows has its own).
std::optional<fs::path> settings_folder(const Environment& environment) {
    if (const auto folder = set_variable(environment, "XDG_CONFIG_HOME")) return fs::path(*folder);
    if (const auto home = set_variable(environment, "HOME")) return fs::path(*home) / ".config";
    if (const auto folder = set_variable(environment, "APPDATA")) return fs::path(*folder);
    return std::nullopt;
}

OwnCatalog read_catalog(const std::string& file, const ModelSources& sources) {
    try {
        return OwnCatalog::of_file(file);
    } catch (const Error& error) {
        if (set_variable(sources.environment, "VRAMFIT_CATALOG") != file) throw;
        throw Error("VRAMFIT_CATALOG: " + std::string(error.what()));
    }
}

std::vector<OwnCatalog> read_catalogs(const ModelSources& sources) {
    std::vector<OwnCatalog> catalogs;
    for (const std::string& file : catalog_files(sources)) catalogs.push_back(read_catalog(file, sources));
    return catalogs;
}

} // namespace

std::vector<std::string> catalog_files(const ModelSources& sources) {
    std::vector<std::string> files = sources.catalogs;
    if (const auto file = set_variable(sources.environment, "VRAMFIT_CATALOG")) files.push_back(*file);
    if (const auto folder = settings_folder(sources.environment)) {
        const fs::path file = *folder / "vramfit" / "models.json";
        std::error_code ignored;
        if (fs::exists(file, ignored)) files.push_back(file.string());
    }
    return files;
}

Model catalog_model(std::string_view name, const ModelSources& sources) {
    const std::vector<OwnCatalog> catalogs = read_catalogs(sources);
    for (const OwnCatalog& catalog : catalogs) {
        if (const auto index = catalog.find(name)) return catalog.model(*index);
    }
    if (in_bundled_catalog(name)) return catalog_model(name);
    std::vector<KnownName> names;
    for (const OwnCatalog& catalog : catalogs) {
        const auto more = catalog.names();
        names.insert(names.end(), more.begin(), more.end());
    }
    throw_unknown_model(name, names);
}

bool in_catalogs(std::string_view name, const ModelSources& sources) {
    if (in_bundled_catalog(name)) return true;
    const std::vector<OwnCatalog> catalogs = read_catalogs(sources);
    return std::ranges::any_of(catalogs, [&](const OwnCatalog& catalog) { return catalog.find(name).has_value(); });
}

std::vector<CatalogEntry> catalog_entries(const ModelSources& sources) {
    std::vector<CatalogEntry> entries;
    std::set<std::string> ids;
    const auto add = [&](CatalogEntry entry) {
        if (ids.insert(entry.id).second) entries.push_back(std::move(entry));
    };
    for (const OwnCatalog& catalog : read_catalogs(sources)) {
        for (std::size_t i = 0; i < catalog.size(); ++i) add(catalog.description(i));
    }
    for (CatalogEntry& entry : catalog_entries()) add(std::move(entry));
    return entries;
}

} // namespace vramfit
