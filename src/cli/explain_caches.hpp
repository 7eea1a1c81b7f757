#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/answer.hpp"

#include <string>
#include <vector>

namespace vramfit::cli {

/// The formula of every cache with the figures put in, a line for each kind of layer:
/// "full: 2 x 32 layers x 8 KV heads x 128 x 32768 tokens x 2 bytes = 4.0 GiB".
/// Where the answer does not know the number of KV heads, only the product of heads and width is shown.
std::vector<std::string> cache_formulas(const Answer& answer, const Terminal& terminal);

} // namespace vramfit::cli
