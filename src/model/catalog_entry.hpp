#pragma once

#include "vramfit/model/catalog.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// One entry of a catalog as JSON, and the entry that it is like, if it is like one.
struct EntryJson {
    nlohmann::json own;
    nlohmann::json like; ///< null: none

    /// The entry that tells architecture, hyperparameters and tensors.
    const nlohmann::json& shape() const { return like.is_null() ? own : like; }
};

/// What the entry says beside its shape.
CatalogEntry read_entry(const EntryJson& entry, std::string_view family);

/// Its model. `architecture` overrides the bundled one of the entry's name where given.
Model model_of_entry(const EntryJson& entry, std::shared_ptr<const Architecture> architecture = nullptr);

/// The optional tensors that an entry with a shape of its own lists.
std::vector<std::string> optional_tensors(const nlohmann::json& shape);

/// The bundled entry of exactly that id as JSON, or null.
nlohmann::json bundled_entry(std::string_view id);

/// A name under which a model is known, and the model's id.
using KnownName = std::pair<std::string_view, std::string_view>;

/// Throws the Error of a name that neither the bundled catalog nor `more` has.
[[noreturn]] void throw_unknown_model(std::string_view name, const std::vector<KnownName>& more);

/// Whether the bundled catalog knows what `name` means, or cannot decide between several.
bool in_bundled_catalog(std::string_view name);

} // namespace vramfit
