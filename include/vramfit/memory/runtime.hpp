#pragma once

#include "vramfit/memory/auto_batch.hpp"
#include "vramfit/memory/serving_profile.hpp"
#include "vramfit/memory/settings.hpp"
#include "vramfit/model/tensor_type.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How a runtime makes a context of what a person says, and how it writes its settings and failures. A profile is an
/// entry of data/runtimes.json, where every rule stands with its source.
struct RuntimeProfile {
    /// For how many rows of logits a runtime reserves memory.
    enum class Outputs : std::uint8_t { slots, batch };

    /// When it takes the memory of the cache: all of it as the model loads, more as tokens come, a fixed share of the
    /// card whatever the model.
    enum class Reserve : std::uint8_t { load, growing, share };

    /// The context of machines with so much memory on all GPUs together, or more.
    struct ContextTier {
        std::uint64_t memory = 0; ///< bytes
        std::uint64_t n_ctx = 0;
    };

    /// Where a setting is said: behind the program, before it as a variable, or in a window or a file of the runtime.
    enum class Style : std::uint8_t { flag, environment, elsewhere };

    /// A setting in the runtime's own words.
    struct Written {
        Style style = Style::flag;
        std::vector<std::string> words; ///< {"-c", "8192"}, {"X_CONTEXT=8192"}; none: it goes without saying
    };

    using Texts = std::map<std::string, std::string, std::less<>>;

    std::string id;      ///< "ollama"
    std::string name;    ///< as people write it: "Ollama"
    std::string version; ///< the one whose rules these are
    std::string program; ///< what is run with variables or flags: "ollama serve"
    std::string alone;   ///< what is run where no variable is to be set, "{model}" to be filled in; empty: `program`
    bool takes_files = true; ///< models are files to it, not names
    std::vector<std::string> aliases;

    std::vector<ContextTier> default_ctx; ///< most memory first; empty: what the model was trained for
    bool fits_ctx = false;                ///< a context that nobody asked for becomes as small as the memory wants it
    bool caps_ctx = false;                ///< no context is larger than what the model was trained for
    bool ctx_per_slot = false;            ///< every slot has the whole context for itself
    std::uint64_t ctx_extra = 0;          ///< cells that it adds to the context
    Reserve reserve = Reserve::load;

    std::uint64_t slots = 1;              ///< sequences, where nobody says how many
    bool unified = false;                 ///< those slots share one cache
    bool unified_when_given = false;      ///< slots that somebody asked for do
    std::vector<std::string> single_slot; ///< architectures that have one slot whatever is asked
    bool embeds_itself = false;           ///< a model that makes embeddings is asked for them, in one slot
    Outputs outputs = Outputs::batch;
    Outputs embedding_outputs = Outputs::batch; ///< for a model that is asked for embeddings
    std::uint64_t draft_tokens = 0;    ///< further rows a slot where tokens are drafted; 0: the runtime does not draft
    std::uint64_t prompt_cache = 0;    ///< bytes of prompts that a server puts aside in the computer's memory, at most
    std::uint64_t checkpoints = 0;     ///< states to go back to that a slot keeps, at most
    std::uint64_t checkpoint_step = 0; ///< tokens between two of them, at least
    std::uint64_t n_batch = 0, n_ubatch = 0;
    bool one_batch = false;              ///< n_batch and n_ubatch are one setting
    std::optional<AutoBatch> auto_batch; ///< how it chooses them by itself
    std::uint64_t one_gpu_percent = 0;   ///< a model that is predicted to take up to this share of a GPU goes there
    std::uint64_t least_ctx = 0;         ///< what the runtime itself calls the least useful context
    std::vector<TensorType> cache_types; ///< that a KV cache may have
    FlashAttention flash_attn = FlashAttention::automatic;
    bool swa_full = false;                 ///< sliding-window layers cache the whole context
    bool compute_measured = false;         ///< its compute buffers are known to be those of llama.cpp
    std::optional<ServingProfile> serving; ///< how it uses a device, where it is not llama.cpp that does

    /// The context where nobody says one, in tokens of a slot where `ctx_per_slot`: with `memory` bytes on all GPUs
    /// together, and at most what the model was trained for (0: not known).
    std::uint64_t default_context(std::uint64_t memory, std::uint64_t n_ctx_train) const;

    /// Can a person set it here at all?
    bool can_set(std::string_view setting) const;

    /// The setting with that value; a switch has none. Only for what can be set.
    Written written(std::string_view setting, const std::string& value = "") const;

    /// What it prints when the memory for `part` ("weights", "kv_cache", "recurrent_state", "compute") is refused.
    /// `backend`: "cuda", "rocm", "metal" or "vulkan".
    std::string failure(std::string_view part, std::string_view backend, std::size_t device, std::uint64_t bytes) const;

    Texts sources;                          ///< by part of the entry: "context", "slots", ...
    bool has_fit = true;                    ///< it can place layers by itself (`--fit`)
    bool layers_by_default = true;          ///< on the GPU where nobody says how many and it does not fit them itself
    std::vector<std::string> version_notes; ///< what is not sure about the version that was asked for

    Texts flags;                                      ///< by setting
    Texts environment;                                ///< by setting: variables
    Texts elsewhere;                                  ///< by setting, "{value}" to be filled in
    std::map<std::string, Texts, std::less<>> values; ///< by setting: the runtime's words for its values
    Texts separators;                                 ///< by setting that is a list: what divides it, else a comma
    Texts hints;                    ///< where a style's words belong: by "environment" and "elsewhere"
    std::string without_gpu_layers; ///< what it says of a model that does not fit where nobody said how many layers
    Texts failures;                 ///< by part
    Texts allocations;              ///< by backend: what comes before it
    Texts buffers;                  ///< by backend: the name of its buffers
};

/// The profile that `name` means, an id or alias. Letter case and `-`, `_`, `.` are forgiven. Throws Error for an
/// unknown name (near matches named), and for a runtime that has no profile yet.
RuntimeProfile find_runtime(std::string_view name);

/// The same among the profiles of `json`, the text of a file like data/runtimes.json.
RuntimeProfile find_runtime(std::string_view name, std::string_view text);

/// The profile as it was in an older version of the runtime: of llama.cpp a build, "b6325". Throws Error for a version
/// that is not written so, and for a runtime of which one version is known.
RuntimeProfile find_runtime_version(std::string_view name, std::string_view version);

/// Every profile, in the order of the file.
std::vector<RuntimeProfile> runtimes();

} // namespace vramfit
