#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What the catalog says of a model beside its shape.
struct CatalogEntry {
    std::string id;
    std::string family;
    std::vector<std::string> aliases;
    std::string architecture;
    std::uint64_t parameters = 0;        ///< 0 where not known
    std::uint64_t active_parameters = 0; ///< a token's share of a mixture of experts; 0 where not known
    std::uint64_t context_length = 0;    ///< tokens, what the model was trained for
    bool moe = false;
    std::string license;  ///< empty where not verified
    std::string released; ///< YYYY-MM or YYYY-MM-DD, empty where not known
    std::vector<std::string> sources;
    std::string unsupported; ///< why llama.cpp cannot load it; empty where it can
};

/// The entry that `name` means: an id or alias. An exact match wins; then letter case and `-`, `_`, `.`, `:` are
/// forgiven. Throws Error for an unknown name (near matches named) and for one that then fits several models.
CatalogEntry find_catalog_entry(std::string_view name);

/// The model that `name` means, with the tensors of its F16 file. Throws Error as above, and for a model that
/// llama.cpp cannot load.
Model catalog_model(std::string_view name);

/// Every entry, sorted by id.
std::vector<CatalogEntry> catalog_entries();

/// A model from the JSON of a catalog entry that has its own hyperparameters ("hparams", "optional").
/// `architecture` overrides the bundled one of the entry's name where given (own catalogs, tests).
Model model_from_entry(std::string_view json, std::shared_ptr<const Architecture> architecture = nullptr);

} // namespace vramfit
