#pragma once

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "vramfit/answer/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// What `vramfit models`, `gpus` and `quants` have in common: options, the filter, a table or JSON, the exit code.
struct ListingRequest {
    OutputOptions output;
    std::string filter; ///< empty: everything
};

/// Throws Error for more than one filter.
ListingRequest read_listing_request(const ParsedArguments& parsed);

/// The same of arguments that are still to be parsed. Throws Error for unknown options, too.
ListingRequest read_listing_request(Arguments arguments);

/// Whether `filter` occurs in one of the texts, letter case forgiven.
bool matches(std::string_view filter, const std::vector<std::string_view>& texts);

/// The result of a listing whose matches are `table`, and in JSON `list` under the key `what`.
CommandResult listing_result(std::string_view what, const ListingRequest& request, const Table& table, Json list,
                             const Terminal& terminal);

/// A text, or null where it is empty; a number, or null where it is 0 and that means "not known".
Json text_or_null(std::string_view text);
Json number_or_null(std::uint64_t number);

} // namespace vramfit::cli
