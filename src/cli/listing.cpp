#include "cli/listing.hpp"

#include "cli/layout.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
    const auto found = std::search(text.begin(), text.end(), part.begin(), part.end(),
                                   [](char a, char b) { return lower(a) == lower(b); });
    return found != text.end();
}

std::string without_trailing_spaces(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

/// `text` cut to `width` columns. Tables hold ASCII only.
std::string cut(std::string text, std::size_t width) {
    if (text.size() > width) text = text.substr(0, width > 2 ? width - 2 : 0) + "..";
    return text;
}

std::string table_line(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                       const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::string cell = printable(cells[i]);
        if (i > 0) line += "  ";
        if (i + 1 == columns.size()) {
            line += cut(cell, screen_width - std::min(screen_width, line.size()));
        } else {
            line += columns[i].right ? pad_left(cell, widths[i]) : pad_right(cell, widths[i]);
        }
    }
    return without_trailing_spaces(std::move(line));
}

} // namespace

ListingRequest read_listing_request(Arguments arguments) {
    return read_listing_request(parse(arguments, listing_options()));
}

ListingRequest read_listing_request(const ParsedArguments& parsed) {
    ListingRequest request;
    request.output = read_output_options(parsed);
    if (parsed.positionals().size() > 1) {
        throw Error("unexpected argument " + quote(parsed.positionals()[1]) + "; give one filter");
    }
    if (!parsed.positionals().empty()) request.filter = parsed.positionals().front();
    return request;
}

bool matches(std::string_view filter, const std::vector<std::string_view>& texts) {
    return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) { return contains(text, filter); });
}

std::string table(const std::vector<Column>& columns, const std::vector<TableRow>& rows, const Terminal& terminal) {
    std::vector<std::string> headings;
    std::vector<std::size_t> widths;
    for (const Column& column : columns) {
        headings.emplace_back(column.heading);
        widths.push_back(column.heading.size());
    }
    for (const TableRow& row : rows) {
        for (std::size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], row.cells[i].size());
    }
    std::string text = terminal.paint(Color::bold, table_line(columns, widths, headings)) + "\n";
    for (const TableRow& row : rows) {
        text += table_line(columns, widths, row.cells) + "\n";
        if (!row.below.empty()) text += wrapped("    ", row.below);
    }
    return text;
}

CommandResult listing_result(std::string_view what, const ListingRequest& request, const std::vector<Column>& columns,
                             const std::vector<TableRow>& rows, Json list, const Terminal& terminal) {
    CommandResult result;
    if (list.empty()) {
        result.exit_code = exit_bad;
        result.remark = "no " + std::string(what.substr(0, what.size() - 1)) + " matches " + quote(request.filter);
    }
    if (request.output.format == Format::json) {
        const Json schema = "vramfit/" + std::string(what) + "/1";
        result.text = dump({{"schema", schema}, {std::string(what), std::move(list)}});
    } else if (!rows.empty()) {
        result.text = table(columns, rows, terminal.with(request.output.color));
    }
    return result;
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json number_or_null(std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

} // namespace vramfit::cli
