#pragma once

#include "vramfit/model/file_type.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How a checkpoint of Hugging Face stores weights: 16-bit floats, or one of the formats that runtimes other than
/// llama.cpp read ("fp8", "awq", "bnb-nf4", "mlx-4bit"). A format is an entry of data/weight_formats.json, with its
/// source. Sizes are arithmetic on the layout: checkpoints differ a little in what they leave unquantized.
struct WeightFormat {
    /// What is stored in `bits`; the rest is stored in `rest_bits`.
    enum class Scope : std::uint8_t {
        all,
        linear,                ///< matrices of the layers; not embeddings, output matrix, norms and routers
        linear_and_embeddings, ///< ... embeddings and output matrix as well
        experts,               ///< the routed experts alone
    };

    std::string id; ///< "awq"
    std::vector<std::string> aliases;
    Scope scope = Scope::all;
    double bits = 16;    ///< a weight, with its share of scales and zero points
    double row_bits = 0; ///< further, once an output row
    double rest_bits = 16;
    std::string description; ///< one line
    std::string source;
};

/// Every format, the one with most bits first.
const std::vector<WeightFormat>& weight_formats();

/// Format by its id or alias; letter case and `-`, `_`, `.` are forgiven. Throws Error, naming near matches.
const WeightFormat& find_weight_format(std::string_view name);

/// The same, or nullptr.
const WeightFormat* weight_format_named(std::string_view name);

/// The format in which the makers of `model` publish it, as far as the data says so; else 16-bit floats.
const WeightFormat& published_format(const Model& model);

/// The file types in which people publish `model` as GGUF, the best first. Of mixtures of experts whose makers publish
/// the experts in MXFP4 that is MXFP4_MOE, which holds them as they are: a larger type has nothing to add.
std::vector<FileType> file_types_of(const Model& model);

/// The file type that is meant where nobody names one: Q4_K_M, which llama.cpp takes of a repository (common/arg.cpp,
/// --hf-repo) and which Ollama's and LM Studio's own names mean; or as the makers have it, where they publish a type of
/// GGUF.
FileType usual_file_type(const Model& model);

/// The share of a tensor that one of `n_ranks` devices keeps where they divide matrices: all of norms, biases, routers
/// and the latent projections of MLA; one head's keys and values at least.
double rank_share(const Model& model, const Tensor& tensor, std::uint32_t n_ranks);

/// Bytes of a tensor of `model` in a checkpoint of that format. None for what a checkpoint works out instead (rope
/// factors).
std::uint64_t checkpoint_bytes(const Model& model, const Tensor& tensor, const WeightFormat& format);

/// Bytes of all tensors of a checkpoint. `mtp`: with those of the MTP blocks.
std::uint64_t checkpoint_bytes(const Model& model, const WeightFormat& format, bool mtp);

} // namespace vramfit
