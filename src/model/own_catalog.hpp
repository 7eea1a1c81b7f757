#pragma once

#include "catalog_entry.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// One catalog of the user's own: checked when it is read, its models made when they are asked for.
class OwnCatalog {
public:
    /// `shown` names the file in messages. Throws Error with line and key.
    OwnCatalog(std::string text, std::string shown);

    /// Reads the file.
    static OwnCatalog of_file(const std::string& path);

    std::size_t size() const { return entries().size(); }
    const nlohmann::json& entry(std::size_t index) const { return entries()[index]; }

    /// The entry that `name` means, or nothing. Throws Error where it may mean several.
    std::optional<std::size_t> find(std::string_view name) const;

    Model model(std::size_t index) const;
    CatalogEntry description(std::size_t index) const;
    std::vector<KnownName> names() const; ///< for near matches

private:
    const nlohmann::json& entries() const { return document_["models"]; }
    EntryJson json_of(std::size_t index) const;
    void check();
    void check_names() const;
    void check_entry(std::size_t index) const;
    void check_texts(const std::string& place, const nlohmann::json& list) const;
    void check_hparams(const std::string& place, const nlohmann::json& hparams) const;
    void check_like(const std::string& place, const nlohmann::json& json) const;
    std::string place_of(std::size_t index) const;
    [[noreturn]] void fail(const std::string& place, const std::string& message) const;

    std::string text_, shown_;
    nlohmann::json document_;
    bool single_ = false; ///< the file is one entry, not a list of them
};

} // namespace vramfit
