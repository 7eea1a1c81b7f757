#pragma once

#include "judge.hpp"

#include <optional>

namespace vramfit {

/// How it shows that the deployment does not fit, or is refused; nothing where it runs. llama.cpp loads the weights
/// first, then makes the caches, then reserves the compute buffers, and stops at the first that finds no room.
std::optional<Failure> failure_of(const Judge& judge, const Request& request, const Trial& trial);

} // namespace vramfit
