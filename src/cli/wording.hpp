#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/answer.hpp"

#include <string>
#include <vector>

namespace vramfit::cli {

/// How answers and tables write what they have in common.

Color color_of(Verdict verdict);

/// "2 x 24GB, rtx4090": the names of devices, those of one kind together.
std::string device_list(const std::vector<std::string>& names);

/// "f16", or "q8_0/f16" where K and V differ.
std::string cache_types_text(TensorType type_k, TensorType type_v);

} // namespace vramfit::cli
