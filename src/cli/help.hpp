#pragma once

#include "cli/options.hpp"

#include <string>
#include <string_view>

namespace vramfit::cli {

/// Help of the main job, or of a listing ("models", "gpus", "quants"), from the tables of options.
std::string help_text(std::string_view command);

/// A table of options as the help shows it: groups with their headings, names, explanations.
std::string options_text(std::span<const OptionSpec> options);

std::string version_text(); ///< version, and the llama.cpp release whose memory rules are built in

} // namespace vramfit::cli
