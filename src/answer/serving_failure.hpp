#pragma once

#include "judge.hpp"

#include <optional>

namespace vramfit {

/// How an engine that is not llama.cpp fails on a deployment that does not fit, in its own words.
std::optional<Failure> serving_failure(const Judge& judge, const Trial& trial, const MaxContext& largest);

} // namespace vramfit
