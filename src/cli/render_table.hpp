#pragma once

#include "cli/fit_options.hpp"
#include "cli/terminal.hpp"
#include "vramfit/answer/table.hpp"

#include <string>

namespace vramfit::cli {

/// A table for a person: what was asked, the rows, how to read them. At most 80 columns; of long answers the first rows.
std::string render_table_text(const Table& table, const Terminal& terminal);

/// A table as JSON of schema `vramfit/table/1` (data/schema/table.json).
std::string render_table_json(const Table& table);

/// Tab-separated values: a line of keys, then a line a row; sizes in bytes, nothing padded, nothing beside.
std::string render_tsv(const Table& table);

/// A table of GitHub's Markdown, with what was asked above it and how to read it below.
std::string render_markdown(const Table& table);

/// A table in the format that is wanted.
std::string render_table(const Table& table, Format format, const Terminal& terminal);

/// "llama3.1-8b  ctx 32768  KV f16": what was asked, as it was understood; and of what it was asked.
std::string asked_text(const TableSubject& subject);
std::string asked_of_text(const TableSubject& subject);

} // namespace vramfit::cli
