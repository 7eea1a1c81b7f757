#include "sweep.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// What the tables with and without a GPU have in common.
Table quant_table(const Request& request, const Judge& judge) {
    Table table;
    table.kind = "quant";
    table.subject = subject_of(request, judge);
    table.columns = {{"quant", "quant"},
                     {"bits_per_weight", "bits", Unit::bits},
                     {"tensor_bytes", "size", Unit::bytes},
                     {"required", "required", Unit::bytes}};
    return table;
}

/// The quantizations, and what `add_figures` finds of each: a row each.
template <typename AddFigures>
void add_rows(Table& table, Judge& judge, const Request& request, AddFigures add_figures) {
    for (const Quant& quant : quants_of(judge.estimator(), request)) {
        Request tried = request;
        if (judge.model().file_type.empty()) tried.quant = quant.name;
        const Trial trial = judge.attempt(tried);
        table.subject->n_ctx = trial.estimate.context.n_ctx;
        note_refusal(table, trial);
        std::vector<Cell>& cells = table.rows.emplace_back().cells;
        add_cells(cells, quant.name, bits_per_weight(judge.model(), quant.tensor_bytes), quant.tensor_bytes);
        add_figures(trial, cells);
    }
}

void add_verdict(const Trial& trial, std::vector<Cell>& cells) {
    if (trial.verdict == Verdict::refused)
        add_cells(cells, std::monostate(), std::monostate());
    else
        add_cells(cells, required_bytes(trial), least_headroom(trial));
    add_cells(cells, trial.verdict, false);
}

/// Marks the first, and so largest, row with the verdict; false where there is none.
bool mark_first(Verdict verdict, Table& table) {
    for (TableRow& row : table.rows) {
        if (row.cells[row.cells.size() - 2] != Cell(verdict)) continue;
        row.cells.back() = true;
        return true;
    }
    return false;
}

std::string mark_best(Table& table, bool strict) {
    if (mark_first(Verdict::fit, table)) return "* the best quantization that fits";
    if (!strict && mark_first(Verdict::tight, table)) return "* the best quantization, and that fits tightly";
    const auto tight = [](const TableRow& row) { return row.cells[row.cells.size() - 2] == Cell(Verdict::tight); };
    return std::ranges::any_of(table.rows, tight) ? "no quantization fits with room to spare" : "no quantization fits";
}

} // namespace

Table quants_that_fit(const Request& request, Estimator& estimator) {
    Judge judge(request, estimator);
    Table table = quant_table(request, judge);
    table.columns.push_back({"headroom", "headroom", Unit::bytes});
    table.columns.push_back({"verdict", "verdict", Unit::verdict});
    table.columns.push_back({"best", "", Unit::mark});
    add_rows(table, judge, request, add_verdict);
    table.legend = mark_best(table, request.strict);
    return table;
}

Table quants_by_need(const Request& request, Estimator& estimator) {
    const Request anywhere = on_any_device(request);
    Judge judge(anywhere, estimator);
    Table table = quant_table(request, judge);
    add_rows(table, judge, anywhere,
             [](const Trial& trial, std::vector<Cell>& cells) { add_cells(cells, needed_bytes(trial)); });
    table.legend = needed_legend;
    return table;
}

} // namespace vramfit
