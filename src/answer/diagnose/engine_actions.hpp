#pragma once

#include "advice.hpp"
#include "engine_figures.hpp"
#include "log_facts.hpp"

namespace vramfit {

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
