#include "cli/text_table.hpp"

#include "cli/layout.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t gap = 2;

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
            if (last) cell = shortened(cell, screen_width - std::min(screen_width, column));
            if (i < row.colors.size() && row.colors[i]) cell = terminal_.paint(*row.colors[i], cell);
            text += columns_[i].right ? pad_left(cell, widths_[i]) : last ? cell : pad_right(cell, widths_[i]);
            if (!last) text.append(gap, ' ');
            column += widths_[i] + gap;
        }
        return text.erase(text.find_last_not_of(' ') + 1);
    }

private:
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
