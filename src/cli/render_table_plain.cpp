#include "cli/render_table.hpp"
#include "cli/table_cells.hpp"
#include "vramfit/base/quote.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::cli {
namespace {

// ---- tab-separated values: a cell with a verdict and a size has two fields -------------------------------------------

/// The fields of a cell, as they are.
struct Fields {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool marked) const { return marked ? "true" : "false"; }
    std::string operator()(const std::string& words) const { return printable(words); }
    std::string operator()(double number) const { return fmt::format("{:.2f}", number); }
    std::string operator()(Verdict verdict) const { return std::string(name_of(verdict)); }
    std::string operator()(const SizedVerdict& sized) const {
        return (sized.bytes ? std::to_string(*sized.bytes) : "") + "\t" + std::string(name_of(sized.verdict));
    }
    template <typename Number>
    std::string operator()(Number number) const {
        return std::to_string(number);
    }
};

bool has_verdicts(const Table& table, std::size_t column) {
    return std::ranges::any_of(
        table.rows, [&](const TableRow& row) { return std::holds_alternative<SizedVerdict>(row.cells[column]); });
}

// ---- Markdown ---------------------------------------------------------------------------------------------------------

/// Without what Markdown would take for its own.
std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|' || c == '\\' || c == '<' || c == '*') result += '\\';
        result += c;
    }
    return result;
}

std::string markdown_line(const std::vector<std::string>& cells) {
    std::string line = "|";
    for (const std::string& cell : cells) line += (cell.empty() ? "" : " " + cell) + " |";
    return line + "\n";
}

} // namespace

std::string render_tsv(const Table& table) {
    std::string text;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const std::string& key = table.columns[i].key;
        text += (i > 0 ? "\t" : "") + key + (has_verdicts(table, i) ? "\t" + key + "_verdict" : "");
    }
    text += "\n";
    for (const TableRow& row : table.rows) {
        for (std::size_t i = 0; i < row.cells.size(); ++i)
            text += (i > 0 ? "\t" : "") + std::visit(Fields{}, row.cells[i]);
        text += "\n";
    }
    return text;
}

std::string render_markdown(const Table& table) {
    std::vector<std::string> headings;
    std::vector<std::string> rules;
    for (const TableColumn& column : table.columns) {
        if (column.detail) continue;
        headings.push_back(column.heading);
        rules.emplace_back(stands_right(column.unit) ? "---:" : "---");
    }
    std::string text;
    if (table.subject)
        text = escaped(printable(asked_text(*table.subject) + "  " + asked_of_text(*table.subject))) + "\n\n";
    text += markdown_line(headings) + markdown_line(rules);
    for (const TableRow& row : table.rows) {
        std::vector<std::string> cells;
        for (std::size_t i = 0; i < row.cells.size(); ++i) {
            if (!table.columns[i].detail) cells.push_back(escaped(cell_text(row.cells[i], table.columns[i].unit)));
        }
        text += markdown_line(cells);
    }
    if (!table.legend.empty()) text += "\n" + escaped(printable(table.legend)) + "\n";
    for (const std::string& note : table.notes) text += "\n" + escaped(printable(note)) + "\n";
    return text;
}

} // namespace vramfit::cli
