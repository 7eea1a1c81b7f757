#pragma once

#include "vramfit/memory/placement.hpp"
#include "vramfit/memory/settings.hpp"
#include "vramfit/model/evaluator.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// What one layer keeps in a cache.
struct CacheLayer {
    std::int32_t il = 0;
    std::int32_t device = host_device;
    std::uint64_t k_width = 0, v_width = 0; ///< elements a cell, as stored
    std::uint64_t v_own = 0;                ///< V's elements before padding
    std::uint64_t k_bytes = 0, v_bytes = 0, r_bytes = 0, s_bytes = 0;
    std::uint64_t alloc_bytes = 0; ///< with the padding of the buffer it lies in

    bool v_padded() const { return v_own < v_width; }
};

/// One of the caches of a context: its kind by llama.cpp's name for it ("full", "swa", "mla", "recurrent").
struct Cache {
    std::string kind;
    bool recurrent = false; ///< state of fixed size instead of cells that grow with the context
    bool has_v = false;     ///< keeps V beside K
    std::uint64_t cells = 0;
    std::uint64_t n_stream = 1;
    std::vector<CacheLayer> layers;

    // What the graph needs to know of an attention cache.
    std::uint64_t n_rot_k = 0, n_rot_v = 0; ///< width of the rotation in front of a quantized cache; 0: none
    std::uint64_t n_v_max = 0;              ///< V's width in the widest layer of the model

    const CacheLayer* layer(std::int32_t il) const;        ///< nullptr where layer `il` keeps none
    const CacheLayer* layer_behind(std::int32_t il) const; ///< the first one behind layer `il`
    std::uint64_t alloc_bytes() const;
};

/// The caches of a context, cell by cell as llama.cpp allocates them (llama-kv-cache.cpp, llama-kv-cache-iswa.cpp,
/// llama-memory-recurrent.cpp). `v_trans`: V is stored transposed, as without flash attention.
std::vector<Cache> plan_caches(Evaluator& evaluator, const Settings& settings, const ContextPlan& context,
                               const Placement& placement, bool v_trans);

/// Tells the evaluator the settings that every template may use.
void set_context(Evaluator& evaluator, const Settings& settings, const ContextPlan& context);

} // namespace vramfit
