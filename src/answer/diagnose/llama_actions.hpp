#pragma once

#include "advice.hpp"
#include "conclude.hpp"

namespace vramfit {

/// What helps the runtimes that run llama.cpp, by the log's own figures: no estimator is asked.

/// A shorter context, by what was missing where the log shows that.
void advise_context(Advice& advice, const Diagnosis& diagnosis, const Budget& budget);

void advise_llama_weights(Advice& advice, const Diagnosis& diagnosis, const Load& load);
void advise_llama_cache(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget);
void advise_llama_compute(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget);

/// What a single buffer above the driver's limit was for.
enum class LimitedBuffer : std::uint8_t { unknown, weights, kv_cache, compute };
LimitedBuffer limited_buffer(const Load& load);

/// A single buffer is larger than the driver allows; the card may have plenty of memory.
void advise_buffer_limit(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget);

} // namespace vramfit
