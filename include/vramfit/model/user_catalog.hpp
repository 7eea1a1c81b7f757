#pragma once

#include "vramfit/model/catalog.hpp"
#include "vramfit/model/source.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Catalogs of a user's own: files in the format of data/models/*.json,
///
///     {"family": "mine", "models": [{"id": "my-model", "architecture": "llama", "hparams": {"block_count": 32, ...},
///                                    "optional": ["output.weight"]}]}
///
/// or one entry by itself, as `catalog_entry_of` writes it. An entry may be "like" another, of the same file or of the
/// bundled catalog, and then tells only what differs. What is wrong in a file is an Error with its line and key.

/// The catalogs of `sources`, in the order in which they are asked: those that are named, that of the environment
/// (VRAMFIT_CATALOG), and $XDG_CONFIG_HOME/vramfit/models.json (~/.config, on Windows %APPDATA%) where there is one.
std::vector<std::string> catalog_files(const ModelSources& sources);

/// The model that `name` means: an id or alias of the catalogs of `sources`, the first that knows it, else of the
/// bundled one. An exact match of a catalog wins over one that forgives letter case and separators.
Model catalog_model(std::string_view name, const ModelSources& sources);

/// Whether one of the catalogs knows the name.
bool in_catalogs(std::string_view name, const ModelSources& sources);

/// Every entry: the own ones in the order of their files, then the bundled ones whose id none of them has.
std::vector<CatalogEntry> catalog_entries(const ModelSources& sources);

/// The entry, as JSON text, from which `model_from_entry` makes the same model: hyperparameters and tensors, the types
/// being those of its F16 file. Throws Error for a model that no entry can describe: one of an architecture that is not
/// bundled, or with tensors that its architecture does not know.
std::string catalog_entry_of(const Model& model);

} // namespace vramfit
