#pragma once

#include "vramfit/memory/serving_cache.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// A published value, and what was seen at least and at most. Bytes.
struct TypicalBytes {
    std::uint64_t value = 0, low = 0, high = 0;
};

/// What a cache may be stored in.
struct CacheDtype {
    std::string name; ///< as the runtime's flag has it: "fp8"
    std::vector<std::string> aliases;
    std::uint64_t element_bytes = 2;
};

/// How an engine that is not llama.cpp uses a device: the object `engine` of an entry of data/runtimes.json, where each
/// rule stands with its source.
struct ServingProfile {
    /// How much of a device it takes.
    enum class Budget : std::uint8_t {
        share,        ///< a share of the total, for everything (vLLM's gpu_memory_utilization)
        static_share, ///< a share of what is free at the start, for weights and cache (SGLang's mem_fraction_static)
        all,          ///< whatever there is
    };
    /// How several devices share a model.
    enum class Parallel : std::uint8_t { tensor, layers, none };
    /// Batches and the like for devices with less memory than `below` bytes.
    struct Tier {
        std::uint64_t below = 0;
        std::string also;                   ///< a part of a device's name: it belongs here, whatever its size
        std::uint64_t n_batch = 0;          ///< tokens that are read at once
        std::uint64_t n_seqs = 0;           ///< sequences, and so rows of logits
        std::uint64_t graph_batch = 0;      ///< of CUDA graphs, largest
        std::uint64_t graph_batch_wide = 0; ///< ... with four or more devices
    };
    /// What SGLang leaves out of its static share, in MiB.
    struct Reserved {
        std::uint64_t base = 0, least_batch = 0;
        double per_batch_token = 0, per_graph = 0, per_device = 0;
        std::uint64_t large = 0, large_least = 0; ///< devices with more bytes than `large` keep at least so many free
    };

    Budget budget = Budget::all;
    Parallel parallel = Parallel::none;
    double share = 0;         ///< of Budget::share, where nobody says
    double most_share = 0;    ///< the most that makes sense; 0: no share to set
    std::uint64_t margin = 0; ///< headroom under which a fit is tight, where nobody says
    CacheRules cache;
    std::vector<Tier> tiers; ///< least memory first; one at least
    Reserved reserved;
    double logit_bytes = 0;           ///< of the sampler's trial run, a row of logits and an entry of the vocabulary
    double weights_share = 0;         ///< activations as a share of the weights
    double activation_error = 0;      ///< by which share of itself the activation peak may be larger
    double weights_error = 0;         ///< likewise, weights
    bool rope_table = false;          ///< cosines and sines of all positions are kept, in 16 bits
    TypicalBytes graphs;              ///< CUDA graphs
    TypicalBytes non_torch;           ///< what the process takes beside its tensors
    TypicalBytes communicator;        ///< more of that with several devices
    bool own_context = false;         ///< `non_torch` stands for the process context: the budget does not count another
    std::vector<CacheDtype> dtypes;   ///< the first is what a cache has where nobody says
    std::vector<std::string> formats; ///< of weights that it reads; the first is how models are published
    std::map<std::string, std::string, std::less<>> format_flags; ///< words that ask for a format, by format
    std::vector<std::string> advised; ///< formats that people publish or that are made on loading, largest first
    std::string gguf;                 ///< what it does with GGUF files
    std::map<std::string, std::string, std::less<>> messages; ///< by occasion: what it prints
    std::vector<std::string> notes;                           ///< what every answer should mention

    /// The tier of a device.
    const Tier& tier(std::uint64_t total, std::string_view name = "") const;

    /// The share of Budget::static_share that the runtime works out itself for a device of `total` bytes.
    double static_share(std::uint64_t total, std::uint64_t n_devices) const;

    /// Cache type by the name of the runtime's flag, or nullptr.
    const CacheDtype* dtype(std::string_view name) const;

    /// What it prints on an occasion ("too_long"), with each `{name}` filled in; empty where nothing is known.
    std::string message(std::string_view occasion,
                        std::initializer_list<std::pair<std::string_view, std::string>> values) const;
};

/// Reads the object `engine`; `runtime` names its profile in messages. Throws Error for what makes no sense.
ServingProfile parse_serving_profile(std::string_view text, std::string_view runtime);

} // namespace vramfit
