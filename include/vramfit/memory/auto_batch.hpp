#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// How Ollama chooses the batch (n_batch and n_ubatch alike) of a model for which nobody said one (server/sched.go,
/// automaticGenerationBatch). The numbers are the runtime profile's.
struct AutoBatch {
    /// A batch for contexts above so many cells. It is taken where what the model is predicted to need is at most
    /// `most_percent` of the free memory, and `surcharge` bytes more are at most the `load_percent` of it.
    struct Step {
        std::uint64_t above_ctx = 0;
        std::uint64_t n_batch = 0;
        std::uint64_t surcharge = 0;
        std::uint64_t most_percent = 100;
    };
    std::vector<Step> steps; ///< largest first; the next smaller one is tried where one does not fit
    std::uint64_t load_percent = 100;
    std::uint64_t otherwise = 512; ///< where no step applies, and without flash attention on CUDA

    /// Without flash attention on CUDA: contexts above so many cells on a GPU of at most so many bytes.
    std::uint64_t small_above_ctx = 0, small_memory = 0, small = 0;

    std::uint64_t embeddings = 0; ///< of models that make embeddings, at most the context
};

/// What such a choice depends on.
struct BatchQuestion {
    std::uint64_t n_ctx = 0;     ///< cells of all slots
    std::uint64_t predicted = 0; ///< bytes that the model is predicted to need (predicted_memory)
    std::uint64_t free = 0;      ///< bytes on the GPUs that it will lie on
    std::uint64_t smallest = 0;  ///< bytes on the smallest of them
    bool cuda_without_flash_attn = false;
    bool embeddings = false;
};

std::uint64_t automatic_batch(const AutoBatch& rule, const BatchQuestion& question);

/// The bytes that Ollama expects a model to take before it loads it (llm/llama_server.go, PredictServerVRAM): its file,
/// and a 16-bit cache of every layer with as many heads as the layer with the fewest. Throws Error for an overflow.
std::uint64_t predicted_memory(const Model& model, std::uint64_t file_bytes, std::uint64_t n_ctx);

} // namespace vramfit
