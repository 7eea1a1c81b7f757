#pragma once

#include "conclude.hpp"

namespace vramfit {

/// Advice from the log alone: the runtime's own options, with the figures that the log's arithmetic gives.
void add_plain_actions(Diagnosis& diagnosis, const Load& load);

} // namespace vramfit
