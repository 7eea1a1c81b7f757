#pragma once

#include "log_facts.hpp"

namespace vramfit {

/// What a driver and the process's own context may take of what a log calls free.
inline constexpr std::uint64_t driver_share = std::uint64_t{640} << 20U;

/// The load that a diagnosis is about: the last that failed, else the last one.
const Load& decisive_load(const LogFacts& facts);

/// What the log shows by itself: what failed, on which device, the figures and the settings in effect. Sentences and
/// actions come later.
Diagnosis conclude(const LogFacts& facts, const Load& load);

/// The memory of the device that failed: what was free, what lay there, what was left.
struct Budget {
    OptionalLogged total, free;
    std::uint64_t used = 0;            ///< by this load, as logged
    std::uint64_t cache = 0;           ///< of that, the largest cache: the one that grows with the context
    std::optional<std::uint64_t> left; ///< when the request came
    std::optional<std::uint64_t>
        most;                  ///< that the card, or one of its name, has: where the log does not show what was free
    bool free_is_left = false; ///< the free memory was measured when the request came
    std::size_t n_devices = 0; ///< whose free memory the log shows
    bool host = false;         ///< it is the computer's own memory
};
Budget budget_of(const Load& load, const Diagnosis& diagnosis);

/// PyTorch's own words: what was asked for was not free in one piece, but is with what it holds and does not use.
bool is_fragmented(const Diagnosis& diagnosis);

/// What setting `name` of a command line in the log says; empty where none says it.
std::string option_text(const Load& load, std::string_view name);

/// The same as a whole number above 0.
OptionalLogged option_number(const Load& load, std::string_view name);

} // namespace vramfit
