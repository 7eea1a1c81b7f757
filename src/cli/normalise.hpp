#pragma once

#include "cli/options.hpp"

#include <span>
#include <string>
#include <vector>

namespace vramfit::cli {

/// Brings an argument list into the one form that the parser knows: every option under its name, with its value in the
/// same argument. llama.cpp's short forms have several letters (`-ngl 99`, `-ctk q8_0`), which option parsers take for
/// several options of one letter, and `-fa` may stand with and without its value.
///
///     -ngl 99 -fa -ctk=q8_0 -c8192   ->   --gpu-layers=99 --flash-attn=on --cache-type-k=q8_0 --ctx=8192
///
/// Arguments that are no known option stay as they are. Throws Error where a value is missing, or given to an option
/// that takes none.
std::vector<std::string> normalise(std::span<const std::string> args, std::span<const OptionSpec> options);

} // namespace vramfit::cli
