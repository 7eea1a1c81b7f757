#pragma once

#include "conclude.hpp"
#include "subject.hpp"

namespace vramfit {

/// Fills in `arithmetic`: what was asked for, what was there, what lay there already. A cache whose size the log does not
/// show gets it from the model, where that is known, as the figure "requested"; where it would have fitted into what was
/// free, another process is the cause.
void add_arithmetic(Diagnosis& diagnosis, const Load& load, const Request& request, const Subject& subject);

} // namespace vramfit
