#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace vramfit::cli {

/// JSON whose keys keep the order in which they were written.
using Json = nlohmann::ordered_json;

/// The text of an output, with a line break at its end. What a user typed need not be UTF-8: such bytes are replaced.
inline std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

} // namespace vramfit::cli
