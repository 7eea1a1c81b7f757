#pragma once

#include "judge.hpp"

namespace vramfit {

/// The largest contexts with the verdicts `fit` and `tight`, everything else as in `request`: multiples of 256 cells a
/// sequence, up to what the model was trained for. No larger one has the verdict either, although a compute buffer may
/// shrink as the context grows: contexts behind the first answer are looked at, too.
/// `known`: what was tried already, where its context is one of them.
MaxContext max_context(Judge& judge, const Request& request, const Trial* known = nullptr);

} // namespace vramfit
