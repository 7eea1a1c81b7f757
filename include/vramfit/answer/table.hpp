#pragma once

#include "vramfit/answer/answer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vramfit {

/// What the figures of a column count. How a person reads them follows from it, and the side on which they stand:
/// numbers right, words left.
enum class Unit : std::uint8_t {
    none,       ///< words
    mark,       ///< true for the row to take
    count,      ///< a whole number, such as tokens
    bits,       ///< bits per weight
    parameters, ///< weights of a model: "8.0B"
    bytes,      ///< a size: "9.2 GiB"
    gibibytes,  ///< a size whose unit the legend says: "9.2", with its verdict where there is one: "F 9.2"
    mebibytes,  ///< a size in whole MiB, as drivers report it
    gigabytes,  ///< a size as cards are sold: "24 GB", which are binary
    verdict,    ///< "fit", "tight", "oom", "refused"
};

/// What something takes, and the verdict on it. Nothing is known of what a refused deployment would take.
struct SizedVerdict {
    std::optional<std::uint64_t> bytes;
    Verdict verdict = Verdict::fit;

    bool operator==(const SizedVerdict&) const = default;
};

/// A mark, word, figure or verdict; std::monostate where nothing is known, or nothing is meant.
using Cell =
    std::variant<std::monostate, bool, std::string, std::uint64_t, std::int64_t, double, Verdict, SizedVerdict>;

/// The values as the cells of a row, or as further ones of `cells`.
template <typename... Values>
void add_cells(std::vector<Cell>& cells, Values&&... values) {
    cells.reserve(cells.size() + sizeof...(values));
    (cells.emplace_back(std::forward<Values>(values)), ...);
}
template <typename... Values>
std::vector<Cell> cells_of(Values&&... values) {
    std::vector<Cell> cells;
    add_cells(cells, std::forward<Values>(values)...);
    return cells;
}

/// The value as a cell, or nothing where it is absent, empty, or 0 and that means "not known".
Cell value_or_nothing(const std::optional<std::uint64_t>& value);
Cell text_or_nothing(const std::string& text);
Cell number_or_nothing(std::uint64_t number);

struct TableColumn {
    std::string key;     ///< for machines, for ever: "kv_cache"
    std::string heading; ///< for people
    Unit unit = Unit::none;
    bool detail = false; ///< left out where the screen's width counts
};

/// As many cells as there are columns, and a remark that stands below them.
struct TableRow {
    std::vector<Cell> cells;
    std::string remark = {};
};

/// What all rows have in common: that part of the question which was given.
struct TableSubject {
    std::string model; ///< empty where it is looked for, as everything below
    std::string quant;
    std::optional<std::uint64_t> n_ctx;
    std::optional<TensorType> type_k, type_v;
    std::vector<std::string> devices;
    std::string runtime;
};

/// An answer of several rows, in the order in which they are to be read.
struct Table {
    std::string kind; ///< what is looked for: "quant", "gpu", "model"; "quant_ctx", "cache_ctx": one against the other
    std::optional<TableSubject> subject;
    std::vector<TableColumn> columns;
    std::vector<TableRow> rows;
    std::string legend; ///< how to read it
    std::vector<std::string> notes;
};

/// Does it show what was looked for: something that fits (`strict`: not tightly), or, where no verdicts are asked for,
/// anything at all?
bool has_match(const Table& table, bool strict);

} // namespace vramfit
