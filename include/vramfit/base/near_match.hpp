#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What somebody who typed `name` may have meant: at most `max` of `candidates`, best first.
/// Names are compared as `normalize_name` has them: neither letter case nor separators count. A candidate that begins
/// with the name comes before one that holds it elsewhere (or is held by it), and both before one that is a few typing
/// errors away (letters missing, added, changed or swapped: at most about a third of the name).
std::vector<std::string> near_matches(std::string_view name, std::span<const std::string_view> candidates,
                                      std::size_t max = 3);

/// The end of an error message about an unknown `name`: "; did you mean q4_k_m or q4_k_s?", or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates, std::size_t max = 3);

} // namespace vramfit
