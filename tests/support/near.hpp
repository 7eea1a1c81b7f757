#pragma once

#include <cmath>

namespace vramfit::test {

/// Is `value` at most `margin` away from `expected`?
inline bool near(double value, double expected, double margin) { return std::abs(value - expected) <= margin; }

} // namespace vramfit::test
