#pragma once

#include "vramfit/model/hparams.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

class Architecture;

/// Where llama.cpp puts a tensor (llama-model.cpp, the layer class of each tensor name).
enum class TensorSection : std::uint8_t {
    input,  ///< token embeddings and the like: always on the host
    first,  ///< belongs to no block but lies with layer 0
    each,   ///< shared by all layers (rope factors): a copy wherever a layer lies
    output, ///< output norm and output matrix: on the device of the output layer
    layer,  ///< belongs to block `layer`
};

/// When a tensor of an MTP block is loaded.
enum class MtpLoading : std::uint8_t { with_mtp, always, never };

/// One tensor of a model's file. Its full name is "blk.LAYER.NAME" for a layer's tensor, NAME for the others.
struct Tensor {
    std::uint32_t name = 0;                      ///< index into Model::tensor_names
    std::int32_t layer = -1;                     ///< block number, -1 outside the blocks
    std::array<std::uint64_t, 4> ne{1, 1, 1, 1}; ///< elements by dimension, ne[0] is the row length
    std::uint8_t n_dims = 1;
    TensorType type = TensorType::f16; ///< type in the file that was read, or in the F16 file (catalog)
    TensorSection section = TensorSection::layer;
    MtpLoading mtp_loading = MtpLoading::with_mtp; ///< matters in MTP blocks only

    std::uint64_t n_elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
    std::uint64_t n_rows() const { return ne[1] * ne[2] * ne[3]; }
};

/// A model, wherever it came from: catalog, GGUF file, config.json. From here on nobody asks for its source.
struct Model {
    std::string id;     ///< catalog id or file name
    std::string source; ///< "catalog", "gguf", ...
    std::shared_ptr<const Architecture> architecture;
    Hparams hparams;
    std::vector<std::string> tensor_names; ///< distinct names without the "blk.N." prefix: "attn_q.weight"
    std::vector<Tensor> tensors;           ///< in any order
    std::string file_type;                 ///< for a file: what it holds, e.g. "Q4_K_M"; empty for a catalog model

    std::string_view name_of(const Tensor& tensor) const { return tensor_names[tensor.name]; }
    std::string full_name_of(const Tensor& tensor) const;

    /// Blocks in the file, MTP blocks included (`block_count`).
    std::uint32_t n_block() const;
    /// Blocks that a forward pass runs: without the MTP blocks (`nextn_predict_layers`).
    std::uint32_t n_layer() const;
    /// The context that the model was trained for, in tokens.
    std::uint64_t n_ctx_train() const;
    std::uint64_t n_parameters() const;
};

/// Bytes of a tensor of `type` and the shape of `tensor`, as in the file (no padding).
std::uint64_t tensor_bytes(const Tensor& tensor, TensorType type);

} // namespace vramfit
