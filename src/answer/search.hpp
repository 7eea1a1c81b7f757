#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace vramfit {

/// Bytes to spare with a setting of `x`; negative: missing.
using Spare = std::function<std::int64_t(std::uint64_t x)>;

/// A value in [first, last] with which there is something to spare, and with whose successor there is not: the largest
/// one where `spare` falls as x grows. `last` where even that has something to spare, nothing where `first` has not.
/// The answer holds whatever the shape: both it and its successor were asked. Straight stretches take few questions.
std::optional<std::uint64_t> last_that_fits(std::uint64_t first, std::uint64_t last, const Spare& spare);

/// The mirror image: `spare` rises with x, and with the predecessor of the answer there is nothing to spare.
std::optional<std::uint64_t> first_that_fits(std::uint64_t first, std::uint64_t last, const Spare& spare);

} // namespace vramfit
