#include "cli/text_table.hpp"

#include "cli/layout.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest = 12; // of a column of words that gives way

class Layout {
public:
    Layout(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows, const Terminal& terminal)
        : columns_(columns),
          terminal_(terminal) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            std::size_t width = display_width(columns[i].heading);
            for (const TextRow& row : rows) width = std::max(width, display_width(row.cells[i]));
            widths_.push_back(width);
        }
        make_room();
    }

    std::string heading() const {
        TextRow row;
        for (const TextColumn& column : columns_) row.cells.push_back(column.heading);
        return terminal_.paint(Color::bold, line(row));
    }

    std::string line(const TextRow& row) const {
        std::string text;
        std::size_t column = 0; // where the next cell begins
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            std::string cell = row.cells[i];
            const bool last = i + 1 == columns_.size();
            if (!columns_[i].right) cell = shortened(cell, std::max(widths_[i], display_width(columns_[i].heading)));
            if (last) cell = shortened(cell, screen_width - std::min(screen_width, column));
            if (i < row.colors.size() && row.colors[i]) cell = terminal_.paint(*row.colors[i], cell);
            text += columns_[i].right ? pad_left(cell, widths_[i]) : last ? cell : pad_right(cell, widths_[i]);
            if (!last) text.append(gap, ' ');
            column += widths_[i] + gap;
        }
        return text.erase(text.find_last_not_of(' ') + 1);
    }

private:
    /// Names give way to figures: the widest column of words is cut until the line fits the screen. The last one
    /// counts little where it is words, which end where the screen does.
    void make_room() {
        std::size_t total = gap * (columns_.size() - 1);
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool open_end = i + 1 == columns_.size() && !columns_[i].right;
            total += open_end ? std::min(widths_[i], narrowest) : widths_[i];
        }
        std::optional<std::size_t> widest;
        for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
            if (!columns_[i].right && (!widest || widths_[i] > widths_[*widest])) widest = i;
        }
        if (total <= screen_width || !widest) return;
        std::size_t& width = widths_[*widest];
        width = std::max(narrowest, width - std::min(width, total - screen_width));
    }

    const std::vector<TextColumn>& columns_;
    const Terminal& terminal_;
    std::vector<std::size_t> widths_;
};

} // namespace

std::string text_table(const std::vector<TextColumn>& columns, const std::vector<TextRow>& rows,
                       const Terminal& terminal) {
    const Layout layout(columns, rows, terminal);
    std::string text = layout.heading() + "\n";
    for (const TextRow& row : rows) {
        text += layout.line(row) + "\n";
        if (!row.below.empty()) text += wrapped("    ", row.below);
    }
    return text;
}

} // namespace vramfit::cli
