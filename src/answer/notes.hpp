#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// What a person should know beside the figures: a line each.
/// `chosen`: the context was not given, and looked for.
std::vector<std::string> notes_of(Judge& judge, const Request& request, const Trial& trial, bool chosen);

} // namespace vramfit
