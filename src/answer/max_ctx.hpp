#pragma once

#include "judge.hpp"

namespace vramfit {

/// The largest contexts with the verdicts `fit` and `tight`, everything else as in `request`: multiples of 256 cells a
/// sequence, up to what the model was trained for. `known`: what was tried already, where its context is one of them.
MaxContext max_context(Judge& judge, const Request& request, const Trial* known = nullptr);

} // namespace vramfit
