#pragma once

#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How a runtime makes a context of what a person says, and how it writes its settings and failures. A profile is an
/// entry of data/runtimes.json, where every rule stands with its source.
struct RuntimeProfile {
    /// For how many rows of logits a runtime reserves memory.
    enum class Outputs : std::uint8_t { slots, batch };

    std::string id;      ///< "llama.cpp"
    std::string program; ///< "llama-server"
    std::vector<std::string> aliases;

    std::uint64_t slots = 1;         ///< sequences, where nobody says how many
    bool unified = false;            ///< those slots share one cache
    bool unified_when_given = false; ///< slots that somebody asked for do
    Outputs outputs = Outputs::batch;
    Outputs embedding_outputs = Outputs::batch; ///< for a model that is asked for embeddings
    std::uint64_t draft_tokens = 0;    ///< further rows a slot where tokens are drafted; 0: the runtime does not draft
    std::uint64_t prompt_cache = 0;    ///< bytes of prompts that a server puts aside in the computer's memory, at most
    std::uint64_t checkpoints = 0;     ///< states to go back to that a slot keeps, at most
    std::uint64_t checkpoint_step = 0; ///< tokens between two of them, at least
    std::uint64_t n_batch = 0, n_ubatch = 0;
    std::uint64_t least_ctx = 0;         ///< what the runtime itself calls the least useful context
    std::vector<TensorType> cache_types; ///< that a KV cache may have

    /// How the setting is written: flag("n_ctx") is "-c". An unknown setting is a mistake of the program.
    const std::string& flag(std::string_view setting) const;

    /// What it prints when the memory for `part` ("weights", "kv_cache", "recurrent_state", "compute") is refused.
    /// `backend`: "cuda", "rocm", "metal" or "vulkan".
    std::string failure(std::string_view part, std::string_view backend, std::size_t device, std::uint64_t bytes) const;

    std::map<std::string, std::string, std::less<>> flags;       ///< by setting
    std::map<std::string, std::string, std::less<>> failures;    ///< by part
    std::map<std::string, std::string, std::less<>> allocations; ///< by backend: what comes before it
    std::map<std::string, std::string, std::less<>> buffers;     ///< by backend: the name of its buffers
};

/// The profile that `name` means, an id or alias. Letter case and `-`, `_`, `.` are forgiven. Throws Error for an
/// unknown name (near matches named), and for a runtime that has no profile yet.
RuntimeProfile find_runtime(std::string_view name);

/// The same among the profiles of `json`, the text of a file like data/runtimes.json.
RuntimeProfile find_runtime(std::string_view name, std::string_view text);

/// Every profile, in the order of the file.
std::vector<RuntimeProfile> runtimes();

} // namespace vramfit
