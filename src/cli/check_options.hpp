#pragma once

#include "cli/options.hpp"

#include <string>

namespace vramfit::cli {

/// Options of `vramfit check`: the settings of the main job, which count for every deployment and before what its file
/// says.
std::span<const OptionSpec> check_options();

std::string check_help();

} // namespace vramfit::cli
