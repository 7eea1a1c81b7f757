#include "vramfit/base/near_match.hpp"

#include "vramfit/base/names.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace vramfit {

namespace {

// Typing errors between two names: letters missing, added, changed, or two neighbours swapped
// (optimal string alignment, with the last three rows of its table).
std::size_t typing_errors(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> above(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(above.begin(), above.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

// How far `candidate` is from `name`: (kind of hit, distance), less is nearer; nothing if it is no match at all.
using Distance = std::pair<int, std::size_t>;

std::optional<Distance> distance(std::string_view name, std::string_view candidate) {
    constexpr std::size_t shortest_part = 3; // "q4" is part of too much
    if (candidate.starts_with(name)) {
        return Distance{0, candidate.size() - name.size()};
    }
    if (name.size() >= shortest_part && candidate.find(name) != std::string_view::npos) {
        return Distance{1, candidate.size() - name.size()};
    }
    if (candidate.size() >= shortest_part && name.find(candidate) != std::string_view::npos) {
        return Distance{1, name.size() - candidate.size()};
    }
    const std::size_t allowed = std::max<std::size_t>(1, (name.size() + 1) / 3);
    const std::size_t gap = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (gap > allowed) return std::nullopt;
    const std::size_t errors = typing_errors(name, candidate);
    return errors <= allowed ? std::optional(Distance{2, errors}) : std::nullopt;
}

} // namespace

std::vector<std::string> near_matches(std::string_view name, std::span<const std::string_view> candidates,
                                      std::size_t max) {
    const std::string wanted = normalize_name(name);
    if (wanted.empty()) {
        return {};
    }
    std::vector<std::pair<Distance, std::string_view>> hits;
    for (const std::string_view candidate : candidates) {
        if (const auto d = distance(wanted, normalize_name(candidate))) {
            hits.emplace_back(*d, candidate);
        }
    }
    std::stable_sort(hits.begin(), hits.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (const auto& hit : hits) {
        if (names.size() == max) break;
        if (std::find(names.begin(), names.end(), hit.second) == names.end()) {
            names.emplace_back(hit.second);
        }
    }
    return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates, std::size_t max) {
    const std::vector<std::string> names = near_matches(name, candidates, max);
    return names.empty() ? std::string() : "; did you mean " + enumerated(names) + "?";
}

} // namespace vramfit
