#pragma once

#include "vramfit/answer/diagnosis.hpp"

#include <cstdint>
#include <optional>

namespace vramfit {

/// What the cache of one request of the whole context takes, and what there was for it.
struct EngineCache {
    std::optional<std::uint64_t> needed, there;
    std::uint64_t below = 0; ///< missing before the cache has anything
};

/// By the log's own figures: both, or the tokens that the cache holds, which is the same by the rule of three.
EngineCache engine_cache_of(const Diagnosis& diagnosis);

/// The share of the card that vLLM or SGLang was told to take; nothing where the log does not show it, or no share.
std::optional<double> said_share(const Diagnosis& diagnosis);

} // namespace vramfit
