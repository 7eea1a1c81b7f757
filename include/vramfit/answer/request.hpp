#pragma once

#include "vramfit/memory/settings.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// A question as a person asks it: names as typed, and only what was said. What was left out takes the runtime's default.
struct Request {
    std::string model;
    std::optional<std::string> quant;
    std::optional<std::uint64_t> n_ctx;   ///< tokens; 0: what the model was trained for
    std::vector<std::string> gpus;        ///< each a size, a name, or "N x" one of them
    std::optional<std::uint64_t> free;    ///< bytes free on the device now, instead of its total
    std::optional<std::uint64_t> reserve; ///< bytes kept out of use on each device
    std::optional<std::uint64_t> margin;  ///< headroom under which a fit is tight
    std::string runtime = "llama.cpp";
    std::optional<TensorType> type_k, type_v;
    std::optional<FlashAttention> flash_attn;
    std::optional<std::uint64_t> parallel; ///< slots
    std::optional<bool> kv_unified;
    std::optional<std::uint64_t> n_batch, n_ubatch;
    std::optional<std::int64_t> n_gpu_layers; ///< -1: all
    std::vector<double> tensor_split;
    std::uint32_t n_cpu_moe = 0; ///< UINT32_MAX: the experts of every layer
    bool op_offload = true;
    bool kv_offload = true;
    bool swa_full = false;
    bool embeddings = false;
    bool mtp = false;
    bool imatrix = true;
    bool strict = false; ///< a tight fit is a failure: changes that give a fit come first
};

} // namespace vramfit
