#pragma once

#include "vramfit/memory/estimate.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// What a runtime loads beside the model, in an answer. The bytes are part of the devices' and the host's own
/// (DeviceMemory::projector, draft, adapters).

/// A multimodal projector (`--mmproj`).
struct ProjectorAnswer {
    std::string name; ///< the file, or the catalog's model that it belongs to
    std::string type; ///< "gemma3", "qwen3vl_merger", ...
    bool on_device = true;
    std::uint64_t weights = 0;
    std::uint64_t compute = 0;      ///< of the device, or of the host where it lies there
    std::uint64_t host_compute = 0; ///< of the inputs, where the encoder lies on a device
    std::uint64_t error = 0;        ///< bytes by which weights and compute buffer may be more
    std::uint64_t largest = 0;      ///< compute buffer for the largest image that it lets through; 0: no more
    Basis weights_basis = Basis::exact;
};

/// A draft model (`-md`), or the context in which the model's own MTP block drafts (`--mtp`): bytes of all devices and
/// the host together.
struct DraftAnswer {
    std::string model;
    std::string quant;
    bool mtp = false; ///< the MTP block of the model itself: its weights are counted there
    std::uint64_t weights = 0;
    std::uint64_t kv_cache = 0;
    std::uint64_t recurrent_state = 0;
    std::uint64_t compute = 0;
    std::uint64_t output = 0;
    std::uint64_t error = 0; ///< bytes by which it may be more on a device
    Basis kv_basis = Basis::exact;
    Basis compute_basis = Basis::exact;
};

/// A LoRA adapter (`--lora`).
struct AdapterAnswer {
    std::string name;
    std::uint64_t bytes = 0; ///< on devices and host together
    std::uint64_t n_tensors = 0;
};

/// What the runtime's server keeps in the computer's memory as it is used, at most. It starts with nothing of it.
struct HostGrowth {
    std::uint64_t prompt_cache = 0; ///< prompts that slots have put aside
    std::uint64_t checkpoints = 0;  ///< states to go back to, of sliding windows and recurrent layers

    std::uint64_t sum() const { return prompt_cache + checkpoints; }
};

} // namespace vramfit
