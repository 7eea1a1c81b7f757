#include "vramfit/answer/table.hpp"

#include <algorithm>

namespace vramfit {

Cell value_or_nothing(const std::optional<std::uint64_t>& value) { return value ? Cell(*value) : Cell(); }

Cell text_or_nothing(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Cell number_or_nothing(std::uint64_t number) { return number == 0 ? Cell() : Cell(number); }

bool has_match(const Table& table, bool strict) {
    const Verdict worst = strict ? Verdict::fit : Verdict::tight;
    bool judged = false;
    bool good = false;
    const auto judge = [&](Verdict verdict) {
        judged = true;
        good = good || verdict <= worst;
    };
    for (const TableRow& row : table.rows) {
        for (const Cell& cell : row.cells) {
            if (const auto* verdict = std::get_if<Verdict>(&cell)) judge(*verdict);
            if (const auto* sized = std::get_if<SizedVerdict>(&cell)) judge(sized->verdict);
        }
    }
    return judged ? good : !table.rows.empty();
}

} // namespace vramfit
