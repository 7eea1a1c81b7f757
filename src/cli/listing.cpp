#include "cli/listing.hpp"

#include "cli/render_table.hpp"
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

} // namespace

ListingRequest read_listing_request(Arguments arguments) {
    return read_listing_request(parse(arguments, listing_options()));
}

ListingRequest read_listing_request(const ParsedArguments& parsed) {
    ListingRequest request;
    request.output = read_output_options(parsed, Formats::with_rows);
    if (parsed.positionals().size() > 1) {
        throw Error("unexpected argument " + quote(parsed.positionals()[1]) + "; give one filter");
    }
    if (!parsed.positionals().empty()) request.filter = parsed.positionals().front();
    return request;
}

bool matches(std::string_view filter, const std::vector<std::string_view>& texts) {
    return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) { return contains(text, filter); });
}

CommandResult listing_result(std::string_view what, const ListingRequest& request, const Table& table, Json list,
                             const Terminal& terminal) {
    CommandResult result;
    if (list.empty()) {
        result.exit_code = exit_bad;
        result.remark = "no " + std::string(what.substr(0, what.size() - 1)) + " matches " + quote(request.filter);
    }
    if (request.output.format == Format::json) {
        const Json schema = "vramfit/" + std::string(what) + "/1";
        result.text = dump({{"schema", schema}, {std::string(what), std::move(list)}});
    } else if (!table.rows.empty()) {
        result.text = render_table(table, request.output.format, terminal.with(request.output.color));
    }
    return result;
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json number_or_null(std::uint64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

} // namespace vramfit::cli
