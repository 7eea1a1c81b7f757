#include "cli/table_cells.hpp"

#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"

#include <fmt/format.h>

namespace vramfit::cli {
namespace {

std::string without_unit(std::string text) {
    text.resize(text.find(' '));
    return text;
}

/// "24 GB", "1.5 GB".
std::string gigabytes_text(std::uint64_t bytes) {
    std::string text = without_unit(format_gib(bytes));
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text + " GB";
}

std::string number_text(std::uint64_t number, Unit unit) {
    switch (unit) {
    case Unit::parameters: return parameters_text(number);
    case Unit::bytes: return size_text(number);
    case Unit::gibibytes: return without_unit(format_gib(number));
    case Unit::mebibytes: return format_mib(number);
    case Unit::gigabytes: return gigabytes_text(number);
    case Unit::none:
    case Unit::mark:
    case Unit::count:
    case Unit::bits:
    case Unit::verdict: break;
    }
    return std::to_string(number);
}

char letter_of(Verdict verdict) {
    const char first = name_of(verdict).front();
    return static_cast<char>(first - 'a' + 'A');
}

/// The text of each kind of cell.
struct Text {
    Unit unit;
    std::size_t number_width;

    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(bool marked) const { return marked ? "*" : ""; }
    std::string operator()(const std::string& words) const { return printable(words); }
    std::string operator()(std::uint64_t number) const { return number_text(number, unit); }
    std::string operator()(std::int64_t number) const {
        return (number < 0 ? "-" : "") + number_text(magnitude(number), unit);
    }
    std::string operator()(double number) const { return fmt::format("{:.2f}", number); }
    std::string operator()(Verdict verdict) const { return std::string(name_of(verdict)); }
    std::string operator()(const SizedVerdict& sized) const {
        const std::string letter(1, letter_of(sized.verdict));
        const std::string number = pad_left(sized.bytes ? number_text(*sized.bytes, unit) : "", number_width);
        return number.empty() ? letter : letter + " " + number;
    }
};

} // namespace

bool stands_right(Unit unit) { return unit != Unit::none && unit != Unit::mark && unit != Unit::verdict; }

std::string cell_text(const Cell& cell, Unit unit, std::size_t number_width) {
    return std::visit(Text{unit, number_width}, cell);
}

std::size_t number_width_of(const Cell& cell) {
    const auto* sized = std::get_if<SizedVerdict>(&cell);
    return sized != nullptr && sized->bytes ? number_text(*sized->bytes, Unit::gibibytes).size() : 0;
}

} // namespace vramfit::cli
