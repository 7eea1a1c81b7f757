#pragma once

#include <cstdint>
#include <string>

namespace vramfit {

/// "17.39": GiB as Python servers print them.
std::string two_digits(std::uint64_t bytes);

/// "0.9".
std::string share_text(double share);

} // namespace vramfit
