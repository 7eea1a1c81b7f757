#pragma once

#include "vramfit/model/gguf.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// A LoRA adapter (`--lora`): for some of a model's matrices two thin ones, which llama.cpp loads where the matrix
/// lies (llama-adapter.cpp) and multiplies beside it.
struct LoraAdapter {
    struct Pair {
        std::size_t tensor = 0;         ///< index into Model::tensors: the matrix that is adapted
        std::uint64_t device_bytes = 0; ///< of both, with the padding of a CUDA buffer
        std::uint64_t host_bytes = 0;
        std::uint64_t width = 0; ///< floats a token that its products take beside those of the matrix
    };
    std::vector<Pair> pairs;

    /// Floats a token of the widest pair.
    std::uint64_t widest() const;
};

/// The adapter in a GGUF file, for `model`. Throws Error for a file that is none, and for what llama.cpp refuses: an
/// adapter of another architecture, a tensor that the model has not, a shape that does not match, half a pair.
LoraAdapter read_adapter(const GgufHeader& header, const Model& model);

} // namespace vramfit
