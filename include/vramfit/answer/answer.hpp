#pragma once

#include "vramfit/answer/companions.hpp"
#include "vramfit/answer/request.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/source.hpp"
#include "vramfit/model/weight_groups.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace vramfit {

enum class Verdict : std::uint8_t { fit, tight, oom, refused };

std::string_view name_of(Verdict verdict); ///< "fit", "tight", "oom", "refused"

/// One device and what lies on it. `headroom` is negative where it does not fit.
struct DeviceAnswer {
    std::string name;
    std::uint64_t total = 0;
    std::uint64_t reserve = 0;
    std::uint64_t available = 0; ///< total (or what is free) - reserve
    DeviceMemory memory;
    std::uint64_t overhead = 0; ///< driver share and process context, typical
    std::uint64_t overhead_low = 0, overhead_high = 0;
    std::string overhead_basis;
    std::uint64_t compute_error = 0;   ///< bytes by which the compute buffer may be larger than said
    std::uint64_t overhead_error = 0;  ///< ... and the overhead
    std::uint64_t companion_error = 0; ///< ... and projector, draft and adapters
    std::uint64_t error = 0;           ///< bytes by which all of them together may be larger than said
    std::uint64_t wanted = 0;          ///< headroom from which on it fits: the margin, or the error where that is more
    std::uint64_t required = 0;
    std::int64_t headroom = 0;
    Verdict verdict = Verdict::fit;
};

/// The computer's own memory, where somebody said how much it has (Request::ram).
struct HostAnswer {
    std::uint64_t total = 0;
    std::uint64_t shared = 0;   ///< of devices that have no memory of their own
    std::uint64_t required = 0; ///< the host's parts and what is shared
    std::uint64_t wanted = 0;   ///< headroom from which on it fits
    std::int64_t headroom = 0;
    Verdict verdict = Verdict::fit;
};

/// What limits the largest context.
enum class ContextLimit : std::uint8_t { model, memory, setting };

struct MaxContext {
    std::uint64_t fit = 0;   ///< largest context, in all cells, with the verdict `fit`; 0: none
    std::uint64_t tight = 0; ///< ... with `fit` or `tight`
    ContextLimit limited_by = ContextLimit::model;
};

/// How the failure shows: while loading the weights, while creating the context.
struct Failure {
    std::string when; ///< "load" or "context" or "generation"
    std::optional<std::uint64_t> at_tokens;
    std::string message; ///< what the runtime will print
};

/// The value of a setting, as the JSON settings have it.
using SettingValue = std::variant<std::uint64_t, std::string, bool>;

/// One change that helps, confirmed by the same estimator.
struct Suggestion {
    std::string kind;                                      ///< "ctx", "cache_type", "quant", ... (DESIGN's list)
    std::string summary;                                   ///< one line for a person
    std::vector<std::pair<std::string, SettingValue>> set; ///< JSON names and values that change
    Verdict verdict = Verdict::fit;                        ///< after the change
    std::vector<std::string> flags; ///< of the runtime, what is to be added or changed: {"-c", "65536"}
    std::string command;            ///< the whole command line of the runtime with the change
    std::uint64_t saved = 0;        ///< bytes on the device that misses most, or of the computer's memory
    Request request;                ///< the question with the change made: asking it gives `verdict`
};

/// The settings in effect, as the runtime would show them.
struct EffectiveSettings {
    std::string runtime;
    std::string quant; ///< canonical file type
    std::uint64_t n_ctx = 0, n_ctx_per_seq = 0, parallel = 1;
    bool kv_unified = false;
    std::uint64_t n_batch = 0, n_ubatch = 0;
    TensorType type_k = TensorType::f16, type_v = TensorType::f16;
    bool flash_attn = false;
    std::uint64_t n_outputs = 0;
    std::uint64_t gpu_layers = 0; ///< the output layer counts as one
    std::uint64_t n_cpu_moe = 0;
    bool swa_full = false;
};

struct ModelSummary {
    std::string id, source, architecture;
    std::uint64_t parameters = 0, tensor_bytes = 0, block_count = 0, context_length = 0;
};

/// The answer to a question whose model, quantization, context and GPU are given.
struct Answer {
    Verdict verdict = Verdict::fit;
    ModelSummary model;
    EffectiveSettings settings;
    std::vector<DeviceAnswer> devices;
    HostMemory host;
    std::optional<HostAnswer> ram; ///< the verdict on the host, where its memory is known
    HostGrowth growth;             ///< what the host may need more as the server is used
    std::optional<ProjectorAnswer> projector;
    std::optional<DraftAnswer> draft;
    std::vector<AdapterAnswer> adapters;
    std::uint64_t overhead = 0; ///< of all devices
    std::uint64_t kv_bytes_per_token = 0;
    Basis compute_basis = Basis::exact;
    std::uint64_t compute_error = 0;
    std::uint64_t margin = 0;
    MaxContext max_ctx;
    std::optional<Failure> failure;
    std::vector<Suggestion> suggestions; ///< least loss first
    std::vector<std::string> notes;
    /// The runtime's command line for this question; where a tight fit is a failure (Request::strict), for the first
    /// change that gives a fit.
    std::string command;
    MemoryEstimate estimate;             ///< the arithmetic behind it, for explanations
    std::vector<WeightGroup> weights;    ///< the tensors of the model's file, likewise
    std::vector<std::uint64_t> kv_heads; ///< by block, likewise; 0 where there are none or it is not known
};

/// The model that a request names, in its catalogs or else in `sources`. Throws Error for an unknown one.
SourcedModel model_of(const Request& request, ModelSources sources = {});

/// Answers a question. Throws Error where it cannot be answered (unknown name, impossible setting).
/// Needs `model`, `quant` (for a catalog model) and at least one GPU. Without `n_ctx` the context is the one that the
/// model's source names, else the one that the runtime takes by itself; where that makes it fit, the largest that fits.
Answer answer(const Request& request, const ModelSources& sources = {});

/// The same for many questions about one model: `estimator` is of the model that `asked` names.
Answer answer(const Request& asked, Estimator& estimator);

} // namespace vramfit
