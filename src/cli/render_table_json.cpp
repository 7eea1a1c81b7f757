#include "cli/json.hpp"
#include "cli/render_table.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

std::string_view name_of(Unit unit) {
    switch (unit) {
    case Unit::none: return "text";
    case Unit::mark: return "mark";
    case Unit::count:
    case Unit::parameters: return "count";
    case Unit::bits: return "bits_per_weight";
    case Unit::verdict: return "verdict";
    case Unit::bytes:
    case Unit::gibibytes:
    case Unit::mebibytes:
    case Unit::gigabytes: break;
    }
    return "bytes";
}

/// Some columns have sizes with their verdicts.
std::string_view unit_of(const Table& table, std::size_t column) {
    const auto sized = [&](const TableRow& row) { return std::holds_alternative<SizedVerdict>(row.cells[column]); };
    return std::ranges::any_of(table.rows, sized) ? "bytes_and_verdict" : name_of(table.columns[column].unit);
}

struct Value {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(Verdict verdict) const { return vramfit::name_of(verdict); }
    Json operator()(const SizedVerdict& sized) const {
        return {{"bytes", sized.bytes ? Json(*sized.bytes) : Json(nullptr)},
                {"verdict", vramfit::name_of(sized.verdict)}};
    }
    template <typename T>
    Json operator()(const T& value) const {
        return value;
    }
};

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json type_or_null(const std::optional<TensorType>& type) { return type ? Json(traits(*type).name) : Json(nullptr); }

Json json_of(const TableSubject& subject) {
    return {{"model", text_or_null(subject.model)},
            {"quant", text_or_null(subject.quant)},
            {"n_ctx", subject.n_ctx ? Json(*subject.n_ctx) : Json(nullptr)},
            {"cache_type_k", type_or_null(subject.type_k)},
            {"cache_type_v", type_or_null(subject.type_v)},
            {"devices", subject.devices},
            {"runtime", subject.runtime}};
}

} // namespace

std::string render_table_json(const Table& table) {
    Json columns = Json::array();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        columns.push_back({{"key", table.columns[i].key}, {"unit", unit_of(table, i)}});
    Json rows = Json::array();
    for (const TableRow& row : table.rows) {
        Json& json = rows.emplace_back(Json::object());
        for (std::size_t i = 0; i < table.columns.size(); ++i)
            json[table.columns[i].key] = std::visit(Value{}, row.cells[i]);
    }
    return dump({{"schema", "vramfit/table/1"},
                 {"kind", table.kind},
                 {"subject", table.subject ? json_of(*table.subject) : Json(nullptr)},
                 {"columns", std::move(columns)},
                 {"rows", std::move(rows)},
                 {"legend", table.legend},
                 {"notes", table.notes}});
}

} // namespace vramfit::cli
