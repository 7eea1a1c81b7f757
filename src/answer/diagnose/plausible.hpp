#pragma once

#include "log_facts.hpp"

namespace vramfit {

/// `load` without the figures that no computer has: more bytes than any, more free memory than there is. A log that was
/// damaged or made up must not lead to advice; what failed is still to be read from it.
Load without_impossible(Load load);

} // namespace vramfit
