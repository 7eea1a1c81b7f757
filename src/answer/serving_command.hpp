#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// The words that give the setting that value, {"--max-model-len", "8192"}; none where the runtime has no such flag.
std::vector<std::string> serving_flags(const RuntimeProfile& runtime, std::string_view setting,
                                       const std::string& value);

/// The words that ask for weights of that format, none where a checkpoint says so itself.
std::vector<std::string> format_flags(const RuntimeProfile& runtime, const std::string& format);

/// The name of a checkpoint of that format, as one would look for it.
std::string checkpoint_name(const Judge& judge, const std::string& format);

/// The command line of an engine that is not llama.cpp; empty for one that is called from Python.
std::string serving_command(const Judge& judge, const Request& request);

} // namespace vramfit
