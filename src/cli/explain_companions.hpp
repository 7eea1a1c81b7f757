#pragma once

#include "cli/render.hpp"

#include <string>
#include <vector>

namespace vramfit::cli {

/// The arithmetic of what is loaded beside the model, a line each: "projector gemma3 on GPU 0: weights 811.85 + compute
/// 117.25 = 929.10 MiB". None without.
std::vector<std::string> companion_lines(const Answer& answer);

} // namespace vramfit::cli
