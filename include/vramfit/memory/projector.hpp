#pragma once

#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/gguf.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The memory of a multimodal projector (`--mmproj`): an encoder of images or sound with the layers that lead into the
/// language model. llama.cpp loads it with a backend of its own on one GPU, or on the CPU, beside the language model
/// (tools/mtmd/clip.cpp): one buffer for all of its tensors, and a compute buffer for the graph of one image.

/// An encoder, as far as its compute buffer depends on it.
struct Encoder {
    bool audio = false;
    std::uint64_t n_layer = 0;
    std::uint64_t n_embd = 0;
    std::uint64_t n_ff = 0;
    std::uint64_t n_head = 0;
    std::uint64_t n_embd_out = 0; ///< width of the language model
    std::uint64_t n_taps = 0;     ///< layers whose output is fed to the language model, too ("deepstack")
    std::uint64_t image_size = 0; ///< pixels a side of the image that llama.cpp plans with
    std::uint64_t patch_size = 1; ///< pixels a side of what becomes one position
    std::uint64_t n_most = 0;     ///< positions of the largest image that it lets through; 0: all are of one size
    std::uint64_t n_mel = 0;      ///< audio: bins of the spectrum
    bool gated = false;           ///< the feed-forward network has a gate
    bool windows = false;         ///< attention in windows, for which it has a mask

    /// Positions of the planned image, or of half a minute of sound.
    std::uint64_t n_positions() const;
};

struct Projector {
    std::string name; ///< of the file, or the id of the catalog's model that it belongs to
    std::string type; ///< "gemma3", "qwen3vl_merger", ...
    std::vector<Encoder> encoders;
    std::uint64_t tensor_bytes = 0;   ///< of the file's tensors
    std::uint64_t device_weights = 0; ///< the same with the padding of a CUDA buffer
    std::uint64_t host_weights = 0;   ///< ... of the computer's memory
    std::uint64_t weights_error = 0;  ///< bytes by which they may be more
    Basis weights_basis = Basis::exact;
};

/// What a projector takes. `compute` is what llama.cpp plans for at start, before it has seen an image.
struct ProjectorMemory {
    bool on_device = true;
    std::uint64_t weights = 0;       ///< on the device, or on the host
    std::uint64_t compute = 0;       ///< likewise
    std::uint64_t host_compute = 0;  ///< the inputs of a projector on a device
    std::uint64_t compute_error = 0; ///< bytes by which `compute` may be more
    std::uint64_t error = 0;         ///< likewise, with that of the weights
    std::uint64_t largest = 0;       ///< compute buffer for the largest image; 0: the same
    bool flash_attn = false;         ///< in effect
};

/// The projector in a GGUF file. Throws Error for a file that is none, and for one that llama.cpp would not load.
Projector read_projector(const GgufHeader& header);

/// The projector of a vision model of the catalog, as an F16 file; nothing where none is known. Its weights are typical.
std::optional<Projector> known_projector(std::string_view model_id);

/// `flash_attn`: asked for or automatic. Throws Error for sizes beyond counting.
ProjectorMemory projector_memory(const Projector& projector, bool on_device, FlashAttention flash_attn);

} // namespace vramfit
