#pragma once

#include "vramfit/memory/placement.hpp"
#include "vramfit/memory/settings.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

inline constexpr const char* all_runtimes = "all";  ///< of Request::runtime, where they are to be compared (solve)
inline constexpr std::int64_t gpu_layers_all = -1;  ///< of Request::n_gpu_layers
inline constexpr std::int64_t gpu_layers_auto = -2; ///< as many as llama.cpp's own `--fit` would take

/// The model's name as a runtime's command line had it, for commands that are printed.
struct SaidModel {
    std::string text;                 ///< "bartowski/X-GGUF:Q4_K_M", "/models/x.gguf"
    std::string kind;                 ///< "file", "gguf_repository", "repository": see data/command_lines
    std::optional<std::string> quant; ///< that goes with the name: with another one it is another name
};

/// A second, smaller model that drafts tokens for the first (`-md`).
struct DraftRequest {
    std::string model;
    std::optional<std::string> quant; ///< as the main model's, where it is not said
    std::optional<std::int64_t> n_gpu_layers;
    std::optional<TensorType> type_k, type_v;
    std::optional<SaidModel> said = {}; ///< as a runtime's command named it
};

/// What a table sets against the context.
enum class TableAxis : std::uint8_t { quant, cache };

/// In which order the models that fit are listed.
enum class ModelOrder : std::uint8_t { parameters, headroom, context, name };

/// Which models of the catalogs are wanted, where a question names none.
struct ModelFilter {
    std::string family;               ///< a part of the family's name, letter case forgiven; empty: any
    std::string license;              ///< likewise of the licence
    std::uint64_t min_parameters = 0; ///< at least so many weights
    bool moe = false;                 ///< mixtures of experts alone
    ModelOrder order = ModelOrder::parameters;
};

/// A question as a person asks it: names as typed, and only what was said. What was left out takes the runtime's default.
struct Request {
    std::string model;
    std::optional<SaidModel> said_model;
    std::optional<std::string> quant;
    std::optional<std::uint64_t> n_ctx; ///< tokens; 0: what the model was trained for
    bool fits_ctx = false; ///< where no context is said: the largest one, whatever the runtime takes by itself
    std::optional<std::uint64_t> default_n_ctx; ///< what the runtime takes by itself: that goes without saying
    std::optional<std::uint64_t> least_ctx; ///< tokens that `gpu_layers_auto` does not go below (llama.cpp's --fit-ctx)
    std::optional<std::uint64_t> tier_overhead; ///< bytes of a GPU that do not count where a context is taken by memory
    std::vector<std::string> gpus;              ///< each a size, a name, or "N x" one of them
    std::vector<std::uint32_t> visible_devices; ///< which of those the runtime sees, from 0, in its order; empty: all
    bool spills = false; ///< the system lends a GPU the computer's memory instead of failing (Windows, WSL)
    std::optional<std::uint64_t> free;    ///< bytes free on the device now, instead of its total
    std::optional<std::uint64_t> reserve; ///< bytes kept out of use on each device
    std::optional<std::uint64_t> margin;  ///< headroom under which a fit is tight
    std::string runtime = "llama.cpp";
    std::optional<std::string> runtime_version; ///< of llama.cpp a build, "b6325"; the newest that is known
    std::optional<TensorType> type_k, type_v;
    std::optional<std::string> cache_dtype;       ///< of the KV cache, as engines name it that are not llama.cpp: "fp8"
    std::optional<double> memory_share;           ///< of a GPU that such an engine takes, more than 0 and at most 1
    std::optional<std::uint64_t> tensor_parallel; ///< GPUs among which such an engine divides every matrix
    std::optional<std::uint64_t> layers_parallel; ///< stages of whole layers, each on as many GPUs
    bool cuda_graphs = true;                      ///< such an engine captures them (vLLM without --enforce-eager)
    std::optional<FlashAttention> flash_attn;
    std::optional<std::uint64_t> parallel; ///< slots
    std::optional<bool> kv_unified;
    std::optional<std::uint64_t> n_batch, n_ubatch;
    std::optional<std::int64_t> n_gpu_layers; ///< gpu_layers_all, gpu_layers_auto, or so many
    std::vector<double> tensor_split;
    std::optional<SplitMode> split_mode;
    std::uint32_t main_gpu = 0;
    std::uint32_t n_cpu_moe = 0;               ///< UINT32_MAX: the experts of every layer
    std::vector<std::string> override_tensors; ///< "REGEX=BUFFER", several of them divided by commas
    std::optional<std::string> projector;      ///< file or name of a multimodal projector
    bool projector_offload = true;             ///< it lies on a GPU
    std::optional<DraftRequest> draft;
    std::vector<std::string> adapters; ///< files of LoRA adapters
    std::optional<std::uint64_t> ram;  ///< bytes of the computer's own memory
    std::vector<std::string> catalogs; ///< files of further models, before the bundled ones
    bool use_environment = true;       ///< the runtime's environment variables count
    bool op_offload = true;
    bool kv_offload = true;
    bool swa_full = false;
    bool embeddings = false;
    bool mtp = false;
    bool imatrix = true;
    std::vector<std::string> notes; ///< what the answer should mention of how the question came about
    bool strict = false;            ///< a tight fit is a failure: changes that give a fit come first
    std::optional<TableAxis> table; ///< a table is wanted where one answer would do (solve.hpp)
    ModelFilter models;             ///< likewise, of the models that fit
};

} // namespace vramfit
