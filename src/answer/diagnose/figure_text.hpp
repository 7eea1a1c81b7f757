#pragma once

#include "vramfit/answer/diagnosis.hpp"

#include <string>

namespace vramfit {

std::string tokens_text(std::uint64_t n); ///< "8192 tokens"

/// "10.0 GiB" where that is exact enough, else "5632 MiB".
std::string size_text(const LogFigure& figure);

/// "21.50 GB", as LM Studio has it: powers of ten.
std::string decimal_gb(std::uint64_t bytes);

/// " (line 12)"; empty where it stands on none.
std::string line_text(const LogFigure& figure);

} // namespace vramfit
