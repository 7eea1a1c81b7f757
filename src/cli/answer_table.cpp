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
                     {"overhead", "overhead", Unit::bytes}};
    table.rows.reserve(answer.devices.size() + 1);
    for (const DeviceAnswer& device : answer.devices) table.rows.push_back(row_of(answer, device));
    table.rows.push_back(host_row(answer));
    return table;
}

} // namespace vramfit::cli
