#include "cli/bars.hpp"

#include "cli/layout.hpp"

#include <algorithm>
#include <cmath>

namespace vramfit::cli {
namespace {

constexpr std::size_t margin = 2;
constexpr std::size_t label_width = 9;
constexpr std::size_t gap = 2; // before a bar
constexpr std::size_t least_size_width = 9;
constexpr std::size_t least_note_column = 18; // behind the start of the bars: short bars keep the remarks in one line
constexpr double bar_width = 28;              // leaves 28 columns for a remark behind the longest bar

/// Eighths of a character. What is there has at least one.
std::uint64_t bar_length(std::uint64_t bytes, std::uint64_t full) {
    if (bytes == 0 || full == 0) return 0;
    const double share = static_cast<double>(bytes) / static_cast<double>(full);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(std::min(share, 1.0) * bar_width * 8)));
}

std::string bar_of(const BarRow& row, std::uint64_t full, const Terminal& terminal) {
    const std::uint64_t length = bar_length(row.bytes, full);
    return row.light ? terminal.light_bar(length) : terminal.bar(length);
}

/// The bar behind its gap; nothing where there is no bar, so that no line ends in blanks.
std::string drawn(const BarRow& row, const std::string& bar, const Terminal& terminal) {
    if (bar.empty()) return "";
    return std::string(gap, ' ') + (row.light ? terminal.paint(Color::dim, bar) : bar);
}

} // namespace

std::string bar_chart(const std::vector<BarRow>& rows, std::uint64_t full, const Terminal& terminal) {
    std::size_t size_width = least_size_width;
    std::size_t note_column = least_note_column;
    for (const BarRow& row : rows) {
        size_width = std::max(size_width, display_width(size_text(row.bytes)));
        if (!row.note.empty()) note_column = std::max(note_column, display_width(bar_of(row, full, terminal)) + 2);
    }
    std::string chart;
    const std::size_t column = margin + label_width + size_width + gap + note_column;
    for (const BarRow& row : rows) {
        const std::string line = std::string(margin, ' ') + pad_right(row.label, label_width) +
                                 pad_left(size_text(row.bytes), size_width) +
                                 drawn(row, bar_of(row, full, terminal), terminal);
        const bool beside = column + display_width(row.note) <= screen_width; // not so with sizes beyond today's
        chart += row.note.empty() ? line
                 : beside         ? pad_right(line, column) + row.note
                                  : line + "\n" + pad_left(row.note, screen_width);
        chart += "\n";
    }
    return chart;
}

} // namespace vramfit::cli
