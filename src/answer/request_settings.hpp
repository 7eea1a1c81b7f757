#pragma once

#include "vramfit/answer/request.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <optional>

namespace vramfit {

/// What a runtime sees of the machine before it loads a model, where its settings depend on that.
struct Outlook {
    std::uint64_t file_bytes = 0; ///< of the model
    std::uint64_t free = 0;       ///< bytes on the GPUs that the model will lie on
    std::uint64_t smallest = 0;   ///< bytes on the smallest of them
    bool cuda = true;
};

/// The context's settings: what was said, else what the runtime does by itself. Throws Error for a cache type that the
/// runtime has not.
Settings settings_of(const Request& request, const RuntimeProfile& runtime, const Model& model, const Outlook& outlook);

/// Cells that the runtime makes of the context that a person says for `n_slots` slots; 0 is what the model was trained
/// for, and stays 0 where that is not known.
std::uint64_t context_cells(std::uint64_t n_ctx, std::uint64_t n_slots, const RuntimeProfile& runtime,
                            const Model& model);

/// A model that makes embeddings: each token sees all others, or the tokens are pooled.
bool makes_embeddings(const Model& model);

/// Has the model but one slot with this runtime, whatever is asked?
bool has_single_slot(const Request& request, const RuntimeProfile& runtime, const Model& model);

} // namespace vramfit
