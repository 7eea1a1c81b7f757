#pragma once

#include "vramfit/answer/table.hpp"

#include <string>

namespace vramfit::cli {

/// Do the figures of a column stand at the right?
bool stands_right(Unit unit);

/// A cell as a person reads it: "9.2 GiB", "-1.3 GiB", "F 9.2"; empty where nothing is known. `number_width`: of the
/// figure behind the letter of a verdict, so that the letters of a column stand below one another.
std::string cell_text(const Cell& cell, Unit unit, std::size_t number_width = 0);

/// The width of the figure of a cell of gibibytes.
std::size_t number_width_of(const Cell& cell);

} // namespace vramfit::cli
