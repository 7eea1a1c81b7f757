#pragma once

#include <string>
#include <string_view>

namespace vramfit {

/// `text` in double quotes, fit to stand in a one-line message: control characters (those that change the
/// direction of writing, too) and bytes that are no UTF-8 become '?', and what is longer than 60 bytes is cut short with
/// "...". For everything that a user typed or a file holds.
std::string quote(std::string_view text);

/// `text` fit to be shown on a terminal, whole and without quotes: what `quote` replaces becomes '?', a tab a blank. For
/// lines of logs.
std::string printable(std::string_view text);

/// `json` with the characters that `quote` replaces written as \uXXXX, wherever JSON itself lets them stand (DEL, C1,
/// direction of writing): it means the same, and a terminal that shows it does not act upon it.
std::string json_without_controls(std::string_view json);

} // namespace vramfit
