#pragma once

#include <map>
#include <string>
#include <string_view>

namespace vramfit {

/// Settings that a command line tells a runtime, by their names in settings_text.hpp: "ctx", "8192".
using CommandOptions = std::map<std::string, std::string, std::less<>>;

/// Settings among the words from the first flag in `text` on, as the table of `runtime` (an id of data/runtimes.json)
/// reads them. What a log has cut off, and values that the runtime would refuse, are passed over.
CommandOptions command_options(std::string_view runtime, std::string_view text);

} // namespace vramfit
