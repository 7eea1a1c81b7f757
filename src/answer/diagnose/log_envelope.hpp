#pragma once

#include <optional>
#include <string>
#include <string_view>

/// What carries the lines of a log from a container, a log collector or a forum.
namespace vramfit {

/// `line` without what quotes it: ">" of mail and Markdown, bars of a table around it, back-ticks.
std::string_view unquoted(std::string_view line);

/// The text in a record that a program wrote about a line: docker's {"log":"...\n","stream":"stderr","time":"..."} and
/// other JSON with a time or a level, Go's `level=INFO msg="..."`. Escapes are undone; the text may have several lines.
/// Nothing where the line is no such record. Ollama's own messages, which say their source, stay as they are.
std::optional<std::string> text_of_record(std::string_view line);

/// `line` without the bytes at its end that are the start of a character in UTF-8, or no part of one.
std::string_view without_broken_end(std::string_view line);

} // namespace vramfit
