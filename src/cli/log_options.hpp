#pragma once

#include "cli/fit_options.hpp"
#include "cli/options.hpp"
#include "vramfit/model/source.hpp"

#include <string>

namespace vramfit::cli {

/// What `vramfit diagnose` and `vramfit compare` have in common: logs, and what they do not show.

std::span<const OptionSpec> diagnose_options();
std::span<const OptionSpec> compare_options();

std::string diagnose_help();
std::string compare_help();

/// Model, quantization, context, GPUs and free memory as far as they are said.
Request read_hints(const ParsedArguments& arguments);

/// The logs that are named, one behind the other; standard input where none is, and for "-". Throws Error for one that
/// cannot be read.
ByteStream open_logs(const std::vector<std::string>& names, const ByteStream& standard_input);

} // namespace vramfit::cli
