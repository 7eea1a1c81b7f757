#pragma once

#include "advice.hpp"
#include "log_facts.hpp"

namespace vramfit {

/// What the cache of one request of the whole context takes, and what there was for it.
struct EngineCache {
    std::optional<std::uint64_t> needed, there;
    std::uint64_t below = 0; ///< missing before the cache has anything
};

/// By the log's own figures: both, or the tokens that the cache holds, which is the same by the rule of three.
EngineCache engine_cache_of(const Diagnosis& diagnosis);

/// What helps vLLM and SGLang. Both take a share of the card for weights and cache; what runs beside them has the rest.

/// The cache of one request of the longest length does not fit into that share.
void advise_engine_cache(Advice& advice, const Diagnosis& diagnosis, const Load& load);

/// What runs at the start finds no room beside the share: the profile's run, or the capture of graphs.
void advise_engine_start(Advice& advice, const Diagnosis& diagnosis, const Load& load);

/// What grows while requests are served finds none.
void advise_engine_growth(Advice& advice, const Diagnosis& diagnosis);

/// Other processes hold part of the share.
void advise_free_share(Advice& advice, const Diagnosis& diagnosis);

} // namespace vramfit
