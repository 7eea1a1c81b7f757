#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// What a person should know beside the figures: a line each.
/// `chosen`: the context was not given, and looked for.
std::vector<std::string> notes_of(Judge& judge, const Request& request, const Trial& trial, bool chosen);

/// For a deployment that does not fit and that no change helps: the GPU that it wants.
std::string note_without_advice(const Judge& judge, const Trial& trial);

} // namespace vramfit
