#include "cli/layout.hpp"
#include "cli/render_table.hpp"
#include "cli/table_cells.hpp"
#include "cli/text_table.hpp"
#include "cli/wording.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t most_rows = 25;    // of an answer: what follows is larger, or smaller, than most people want
constexpr std::size_t widest_words = 34; // of a cell

std::optional<Color> color_of_cell(const Cell& cell) {
    if (const auto* verdict = std::get_if<Verdict>(&cell)) return color_of(*verdict);
    if (const auto* sized = std::get_if<SizedVerdict>(&cell)) return color_of(sized->verdict);
    return std::nullopt;
}

std::size_t shown_rows(const Table& table) {
    return table.subject ? std::min(most_rows, table.rows.size()) : table.rows.size();
}

std::string rows_text(const Table& table, const Terminal& terminal) {
    const std::size_t n_rows = shown_rows(table);
    std::vector<TextColumn> columns;
    std::vector<TextRow> rows(n_rows);
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const TableColumn& column = table.columns[c];
        if (column.detail) continue;
        columns.push_back({column.heading, stands_right(column.unit)});
        std::size_t number_width = 0;
        for (std::size_t r = 0; r < n_rows; ++r)
            number_width = std::max(number_width, number_width_of(table.rows[r].cells[c]));
        const bool last = c + 1 == table.columns.size();
        for (std::size_t r = 0; r < n_rows; ++r) {
            const Cell& cell = table.rows[r].cells[c];
            const std::string text = cell_text(cell, column.unit, number_width);
            rows[r].cells.push_back(last ? text : shortened(text, widest_words));
            rows[r].colors.push_back(color_of_cell(cell));
        }
    }
    for (std::size_t r = 0; r < n_rows; ++r) rows[r].below = printable(table.rows[r].remark);
    return text_table(columns, rows, terminal);
}

} // namespace

std::string asked_text(const TableSubject& subject) {
    std::string text = subject.model.empty() ? "models" : shortened(printable(subject.model), widest_words);
    if (!subject.quant.empty()) text += "  " + subject.quant;
    if (subject.n_ctx) text += *subject.n_ctx == 0 ? "  ctx max" : "  ctx " + std::to_string(*subject.n_ctx);
    if (subject.type_k && subject.type_v) text += "  KV " + cache_types_text(*subject.type_k, *subject.type_v);
    return text;
}

std::string asked_of_text(const TableSubject& subject) {
    const std::string devices = device_list(subject.devices);
    return devices + (devices.empty() ? "" : ", ") + subject.runtime;
}

std::string render_table_text(const Table& table, const Terminal& terminal) {
    std::string text;
    if (table.subject) {
        const std::string right = printable(asked_of_text(*table.subject));
        const std::string left = asked_text(*table.subject);
        text += display_width(right) > screen_width ? left + "\n" + wrapped("  ", right) : edges(left, right);
        text += "\n";
    }
    if (!table.rows.empty()) text += rows_text(table, terminal);
    if (shown_rows(table) < table.rows.size())
        text += "and " + std::to_string(table.rows.size() - shown_rows(table)) + " more, see --format tsv\n";
    if (!table.legend.empty()) text += (table.rows.empty() ? "" : "\n") + wrapped("", printable(table.legend));
    for (const std::string& note : table.notes) text += wrapped("note: ", printable(note));
    return text;
}

std::string render_table(const Table& table, Format format, const Terminal& terminal) {
    switch (format) {
    case Format::json: return render_table_json(table);
    case Format::tsv: return render_tsv(table);
    case Format::markdown: return render_markdown(table);
    case Format::text: break;
    }
    return render_table_text(table, terminal);
}

} // namespace vramfit::cli
