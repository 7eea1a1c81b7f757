#pragma once

#include "vramfit/memory/estimate.hpp"

#include <cstdint>

namespace vramfit {

/// Speculation: llama-server creates a second context whose tokens the model then checks. It belongs to a draft model
/// (`-md`), or to the model's own MTP block (common/speculative.cpp).

/// How the draft context is made of the target's: as many cells, batches and sequences, its own cache types, one row of
/// logits a sequence, the same devices with the same shares; neither overrides nor experts kept on the host.
/// `target`: what the target was estimated with; `context`: what llama.cpp makes of it.
Deployment draft_deployment(const Deployment& target, const ContextPlan& context, TensorType type_k, TensorType type_v);

/// The context of an MTP block. It lies on the device of the output layer.
struct MtpContext {
    std::int32_t device = 0;
    std::uint64_t kv_cache = 0;
    std::uint64_t compute = 0;
    std::uint64_t host_compute = 0;
    std::uint64_t output = 0;
    std::uint64_t compute_error = 0; ///< bytes by which `compute` may be more
    Basis kv_basis = Basis::exact;
};

/// The cache has the MTP blocks alone, but in architectures whose own cache has them as well: there it has all layers
/// (llama-model.cpp, `create_memory`). The compute buffer is taken from the model's own graph, whose widest layer has
/// the same shape; measured equal to 0.1 MiB for dense models (tests/memory/draft_test.cpp).
MtpContext mtp_context(Estimator& estimator, const Deployment& target, const MemoryEstimate& estimate,
                       TensorType type_k, TensorType type_v);

/// How often recurrent state is kept where a model drafts with its MTP block: once more for each token that may have to
/// be taken back (llama-arch.cpp, `llm_arch_supports_rs_rollback`; n_rs_seq). 0 for architectures without.
std::uint64_t rollback_copies(const Model& model, std::uint64_t draft_tokens);

/// Adds the copies to the recurrent state of `estimate`.
void add_rollback(MemoryEstimate& estimate, std::uint64_t n_copies);

} // namespace vramfit
