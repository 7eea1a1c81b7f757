#include "search.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// Where the line through (low, at_low) and (high, at_high) crosses zero, strictly between the two.
std::uint64_t crossing(std::uint64_t low, std::int64_t at_low, std::uint64_t high, std::int64_t at_high) {
    const double rise = static_cast<double>(at_low) - static_cast<double>(at_high);
    const double share = static_cast<double>(at_low) / rise;
    const auto step = static_cast<std::uint64_t>(share * static_cast<double>(high - low));
    return std::clamp(low + step, low + 1, high - 1);
}

} // namespace

std::optional<std::uint64_t> last_that_fits(std::uint64_t first, std::uint64_t last, const Spare& spare) {
    std::int64_t at_high = spare(last);
    if (at_high >= 0) return last;
    if (first == last) return std::nullopt;
    std::int64_t at_low = spare(first);
    if (at_low < 0) return std::nullopt;
    std::uint64_t low = first;
    std::uint64_t high = last;
    for (unsigned round = 0; high - low > 1; ++round) {
        // Halving now and then bounds the number of rounds where the line is bent.
        const bool halve = round % 3 == 2;
        const std::uint64_t x = halve ? low + (high - low) / 2 : crossing(low, at_low, high, at_high);
        const std::int64_t at_x = spare(x);
        (at_x >= 0 ? low : high) = x;
        (at_x >= 0 ? at_low : at_high) = at_x;
    }
    return low;
}

std::optional<std::uint64_t> first_that_fits(std::uint64_t first, std::uint64_t last, const Spare& spare) {
    const std::uint64_t sum = first + last;
    const auto mirrored = last_that_fits(first, last, [&](std::uint64_t x) { return spare(sum - x); });
    return mirrored ? std::optional(sum - *mirrored) : std::nullopt;
}

} // namespace vramfit
