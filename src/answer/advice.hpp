#pragma once

#include "judge.hpp"

#include <vector>

namespace vramfit {

/// What to change so that a request that does not fit, fits tightly or is refused becomes one that fits, least loss
/// first. Each change was tried: its request gets the verdict that the suggestion promises. `request` says its context.
std::vector<Suggestion> advice(Judge& judge, const Request& request, const Trial& base, const MaxContext& largest);

} // namespace vramfit
