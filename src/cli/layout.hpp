#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// Text for a screen of 80 columns.
inline constexpr std::size_t screen_width = 80;

std::size_t
display_width(std::string_view text); ///< columns: characters of UTF-8, all one column wide; colour codes have none

std::string pad_right(std::string_view text, std::size_t width);
std::string pad_left(std::string_view text, std::size_t width);

/// `text` of at most `width` columns, cut with ".." at its end.
std::string shortened(std::string_view text, std::size_t width);

/// `left` and `right` at the two edges of a line of `width`; `right` on a line of its own where both do not fit.
std::string edges(std::string_view left, std::string_view right, std::size_t width = screen_width);

/// `first` and then `pieces` with spaces between, broken between pieces so that no line is wider than the screen;
/// further lines are indented to the width of `first`. Ends with a line break.
std::string wrapped(std::string_view first, const std::vector<std::string>& pieces, std::string_view line_end = "");

std::vector<std::string> words_of(std::string_view text);

/// The words of a command line as pieces, each option together with its value: "-c 8192".
std::vector<std::string> with_values(const std::vector<std::string>& words);

/// The same with the words of `text` as pieces.
std::string wrapped(std::string_view first, std::string_view text, std::string_view line_end = "");

/// A headroom without its sign.
std::uint64_t magnitude(std::int64_t headroom);

/// A size as a person reads it beside others: "9.2 GiB", and "58 MiB", "12 KiB" where that would be "0.0 GiB".
std::string size_text(std::uint64_t bytes);

/// "9.2 of 24.0 GiB": the unit once where both have it.
std::string part_of_text(std::uint64_t part, std::uint64_t whole);

/// "8.0B" parameters, "494M", "1.5T".
std::string parameters_text(std::uint64_t parameters);

} // namespace vramfit::cli
