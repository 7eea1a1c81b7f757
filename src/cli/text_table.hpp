#pragma once

#include "cli/terminal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vramfit::cli {

/// A column of text: its heading, and whether it stands at the right, as numbers do.
struct TextColumn {
    std::string heading;
    bool right = false;
};

/// A row of texts that can be shown as they are, and a remark that stands below it, indented.
struct TextRow {
    std::vector<std::string> cells;
    std::string below = {};
    std::vector<std::optional<Color>> colors = {}; ///< by cell; none at all: no colours
};

/// Aligned columns under their headings; the last one is cut where the screen ends.
std::string text_table(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows,
                       const Terminal& terminal);

} // namespace vramfit::cli
