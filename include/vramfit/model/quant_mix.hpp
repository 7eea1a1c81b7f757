#pragma once

#include "vramfit/model/file_type.hpp"
#include "vramfit/model/model.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What llama-quantize makes of a model's F16 file.
struct QuantMix {
    std::vector<TensorType> types;      ///< parallel to Model::tensors
    std::uint32_t n_fallback = 0;       ///< tensors whose row length forced another type than the mix wanted
    std::optional<std::string> refused; ///< why llama.cpp would refuse to make such a file, and for which tensor
};

/// The type that each tensor gets in a file of type `file_type`, made with an importance matrix or without
/// (llama-quant.cpp: default type, special tensors, fallbacks). `arch` is llama.cpp's name of the architecture, as in
/// `general.architecture`. Depends on these hyperparameters: block_count, expert_count, attention.head_count and
/// attention.head_count_kv of layer 0. The order of `model.tensors` makes no difference; natural order is fastest.
/// Where llama.cpp refuses, `types` still holds what the file would be.
QuantMix quant_mix(const Model& model, std::string_view arch, FileType file_type, bool imatrix);

} // namespace vramfit
