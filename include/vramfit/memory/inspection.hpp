#pragma once

#include "vramfit/model/file_type.hpp"
#include "vramfit/model/model.hpp"
#include "vramfit/model/weight_groups.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What a model is, whatever it runs on: its shape in llama.cpp's terms, what its layers keep, the tensors of its
/// file, and how its caches grow.

/// A figure of the shape. Layers may differ: `least` and `most` over all of them.
struct ShapeFigure {
    std::string_view name; ///< as llama.cpp prints it: "n_head_kv"
    std::uint64_t least = 0, most = 0;
};

/// Layers that are alike.
struct LayerKind {
    std::vector<std::string> caches; ///< kinds of the caches that each of them keeps, by llama.cpp's names; or none
    bool experts = false;            ///< a mixture of experts instead of one feed-forward network
    bool mtp = false;                ///< an MTP block: runs only where it is asked for
    std::uint64_t layers = 0;
};

/// What caches of that type, K and V alike, take with one sequence.
struct CacheCost {
    TensorType type = TensorType::f16;
    std::uint64_t bytes_per_token = 0;  ///< of context
    std::uint64_t window_bytes = 0;     ///< of layers with a window: the same whatever the context
    std::uint64_t trained_bytes = 0;    ///< all together at the context that the model was trained for
    std::optional<std::string> refusal; ///< llama.cpp has no such cache for this model: why
};

struct Inspection {
    std::vector<ShapeFigure> shape;
    std::vector<LayerKind> layers; ///< in the order of their first layer
    std::string file_type;         ///< of the weights: "Q4_K_M"
    std::vector<WeightGroup> weights;
    std::uint64_t tensor_bytes = 0; ///< of all weights in the file
    std::vector<CacheCost> caches;  ///< largest type first
    std::uint64_t state_bytes = 0;  ///< recurrent state of a sequence
    std::uint64_t n_ubatch = 512;   ///< that the windows are counted with
};

/// `file_type`: of the weights of a catalog model (its F16 file where it is left out); a file holds what it holds.
/// Throws Error where llama-quantize would make no such file, or sizes leave all bounds.
Inspection inspect(const Model& model, std::optional<FileType> file_type, const std::vector<TensorType>& cache_types);

} // namespace vramfit
