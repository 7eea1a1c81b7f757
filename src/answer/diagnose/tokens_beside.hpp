#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/memory/estimate.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// A context that fits into memory which is free while the weights lie in theirs.
struct BesidePlan {
    std::string kind; ///< "ctx" or "cache_type"
    std::string summary;
    std::optional<TensorType> type; ///< of the cache, where it changes
    std::uint64_t n_ctx = 0;
    Verdict verdict = Verdict::tight;
};

/// The largest context beside the weights with the cache as it is, then with a smaller type. Cache, state and compute
/// buffer count. Throws Error for settings that make no context.
std::vector<BesidePlan> plans_beside(const Request& request, Estimator& estimator, std::uint64_t free);

/// Bytes of cache and state at the request's context.
struct CacheNeed {
    std::uint64_t n_ctx = 0; ///< the request's, else what the model was trained for
    std::uint64_t bytes = 0;
    std::uint64_t per_token = 0; ///< by which it grows
};
CacheNeed cache_need(const Request& request, Estimator& estimator);

} // namespace vramfit
