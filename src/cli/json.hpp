#pragma once

#include "vramfit/base/quote.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace vramfit::cli {

/// JSON whose keys keep the order in which they were written.
using Json = nlohmann::ordered_json;

/// The text of an output, with a line break at its end. What a user typed or a file holds need not be UTF-8, and may
/// hold commands to terminals: such bytes are replaced, such characters escaped.
inline std::string dump(const Json& json) {
    return json_without_controls(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

} // namespace vramfit::cli
