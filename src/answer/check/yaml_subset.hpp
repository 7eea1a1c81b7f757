#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// The part of YAML 1.2 in which people write compose files and llama-swap's configuration: block and flow mappings and
/// sequences, plain, quoted and block scalars, comments, anchors, aliases and merge keys. Not read: several documents,
/// complex keys, tags' meanings, directives.

struct YamlNode {
    enum class Kind : std::uint8_t { null, scalar, list, map };

    Kind kind = Kind::null;
    std::string text;                                                             ///< of a scalar
    std::vector<std::shared_ptr<const YamlNode>> items;                           ///< of a list
    std::vector<std::pair<std::string, std::shared_ptr<const YamlNode>>> entries; ///< of a map, in their order
    std::size_t line = 0;                                                         ///< from 1, where it begins

    /// The value of a key, its own or one that "<<" merges in; nullptr where there is none.
    const YamlNode* find(std::string_view key) const;

    using Entries = std::vector<std::pair<std::string, std::shared_ptr<const YamlNode>>>;

    /// The entries of a map behind those that "<<" merges in, so that of two with one key the later one counts.
    Entries all_entries() const;

    /// The text of a scalar under the key; "" where there is none.
    std::string text_of(std::string_view key) const;
};

/// Throws Error with the line for what it cannot read, for a text of more than 1 MiB and for one nested too deeply.
std::shared_ptr<const YamlNode> parse_yaml(std::string_view text);

} // namespace vramfit
