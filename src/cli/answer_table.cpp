#include "cli/answer_table.hpp"

namespace vramfit::cli {
namespace {

void add_parts(std::vector<Cell>& cells, const DeviceMemory& m) {
    add_cells(cells, m.weights, m.kv_cache, m.recurrent_state, m.compute, m.adapters, m.projector, m.draft);
}

std::vector<Cell> asked_cells(const Answer& answer) {
    return cells_of(answer.model.id, answer.settings.quant, answer.settings.n_ctx);
}

TableRow row_of(const Answer& answer, const DeviceAnswer& device) {
    TableRow row{asked_cells(answer)};
    add_cells(row.cells, device.name, device.verdict, device.available, device.required, device.headroom);
    add_parts(row.cells, device.memory);
    add_cells(row.cells, std::monostate(), device.overhead);
    return row;
}

TableRow host_row(const Answer& answer) {
    TableRow row{asked_cells(answer)};
    row.cells.emplace_back(std::string("RAM"));
    if (const auto& ram = answer.ram)
        add_cells(row.cells, ram->verdict, ram->total, ram->required, ram->headroom);
    else
        add_cells(row.cells, std::monostate(), std::monostate(), answer.host.total(), std::monostate());
    add_parts(row.cells, answer.host);
    add_cells(row.cells, answer.host.output, std::monostate());
    return row;
}

/// "fit; largest context 131072": what the rows do not say.
std::string summary_of(const Answer& answer) {
    std::string text(name_of(answer.verdict));
    if (answer.failure) text += ": " + answer.failure->message;
    const MaxContext& max = answer.max_ctx;
    if (max.fit > 0) text += "; largest context " + std::to_string(max.fit);
    if (max.tight > max.fit) text += "; largest context that fits tightly " + std::to_string(max.tight);
    return text;
}

std::string suggestion_text(const Suggestion& s) {
    std::string text = std::string(name_of(s.verdict)) + " with " + s.summary;
    std::string flags;
    for (const std::string& flag : s.flags) flags += (flags.empty() ? "" : " ") + flag;
    return text + (flags.empty() ? "" : ": " + flags);
}

} // namespace

Table table_of(const Answer& answer) {
    Table table;
    table.kind = "answer";
    table.columns = {{"model", "model"},
                     {"quant", "quant"},
                     {"n_ctx", "ctx", Unit::count},
                     {"device", "device"},
                     {"verdict", "verdict", Unit::verdict},
                     {"available", "available", Unit::bytes},
                     {"required", "required", Unit::bytes},
                     {"headroom", "headroom", Unit::bytes},
                     {"weights", "weights", Unit::bytes},
                     {"kv_cache", "KV cache", Unit::bytes},
                     {"recurrent_state", "state", Unit::bytes},
                     {"compute", "compute", Unit::bytes},
                     {"adapters", "adapters", Unit::bytes},
                     {"projector", "projector", Unit::bytes},
                     {"draft", "draft", Unit::bytes},
                     {"output", "output", Unit::bytes},
                     {"overhead", "overhead", Unit::bytes},
                     {"max_ctx", "largest", Unit::count, true}};
    table.rows.reserve(answer.devices.size() + 1);
    for (const DeviceAnswer& device : answer.devices) table.rows.push_back(row_of(answer, device));
    table.rows.push_back(host_row(answer));
    const MaxContext& max = answer.max_ctx;
    for (TableRow& row : table.rows) row.cells.push_back(number_or_nothing(max.fit > 0 ? max.fit : max.tight));
    table.legend = summary_of(answer);
    for (const Suggestion& s : answer.suggestions) table.notes.push_back(suggestion_text(s));
    if (!answer.command.empty()) table.notes.push_back("run: " + answer.command);
    table.notes.insert(table.notes.end(), answer.notes.begin(), answer.notes.end());
    return table;
}

} // namespace vramfit::cli
