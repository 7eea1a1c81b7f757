#pragma once

#include "judge.hpp"

#include <optional>

namespace vramfit {

/// How an engine that is not llama.cpp fails on the deployment of `request`, which `trial` judged, where it does not fit:
/// in its own words.
std::optional<Failure> serving_failure(Judge& judge, const Request& request, const Trial& trial,
                                       const MaxContext& largest);

} // namespace vramfit
