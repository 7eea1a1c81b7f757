#pragma once

#include "vramfit/model/tensor_type.hpp"

#include <cstdint>

namespace vramfit {

inline constexpr std::uint64_t n_cells_pad = 256;    ///< cells of a cache come in multiples of it (llama-context.cpp)
inline constexpr std::uint64_t max_ctx = 2147483647; ///< llama.cpp counts positions in 32 bits
inline constexpr std::uint64_t max_sequences = 256;  ///< llama-cparams.h, LLAMA_MAX_SEQ

enum class FlashAttention : std::uint8_t { off, on, automatic };

/// What a llama.cpp context is created with (llama.h, `llama_context_params`), as asked for. The defaults are those of
/// the library with one sequence; runtime profiles set their own.
struct Settings {
    std::uint64_t n_ctx = 0; ///< tokens; 0: what the model was trained for
    std::uint64_t n_batch = 2048;
    std::uint64_t n_ubatch = 512;
    std::uint64_t n_seq_max = 1; ///< sequences: the server's slots
    bool kv_unified = false;     ///< one cache for all sequences
    TensorType type_k = TensorType::f16;
    TensorType type_v = TensorType::f16;
    FlashAttention flash_attn = FlashAttention::automatic;
    bool swa_full = false;           ///< sliding-window layers cache the whole context
    bool offload_kqv = true;         ///< caches on the device of their layer
    bool op_offload = true;          ///< big operations on host weights run on a device
    std::uint64_t n_outputs_max = 0; ///< rows of logits reserved; 0: a whole batch
    bool embeddings = false;
    bool mtp = false; ///< the MTP block is loaded and used

    bool operator==(const Settings&) const = default;
};

/// The context that llama.cpp makes of the settings (llama-context.cpp): every size that the caches and the graph
/// are built from.
struct ContextPlan {
    std::uint64_t n_ctx = 0;     ///< cells in all
    std::uint64_t n_ctx_seq = 0; ///< cells a sequence may use
    std::uint64_t n_batch = 0;
    std::uint64_t n_ubatch = 0;
    std::uint64_t n_seqs = 0;    ///< sequences
    std::uint64_t n_stream = 0;  ///< caches side by side: 1 where unified
    std::uint64_t n_tokens = 0;  ///< of the worst prompt graph
    std::uint64_t n_outputs = 0; ///< rows of logits of that graph
};

/// Rounds and divides as llama.cpp does. Throws Error where no context can come of it: no tokens, more sequences than
/// llama.cpp knows, sizes beyond every computer.
ContextPlan plan_context(const Settings& settings, std::uint64_t n_ctx_train);

} // namespace vramfit
