#pragma once

#include "log_facts.hpp"

namespace vramfit {

/// Says of each figure that differs why, as far as the log tells (ComparedFigure::reason).
void add_reasons(Comparison& comparison, const Load& load, const Request& request);

} // namespace vramfit
