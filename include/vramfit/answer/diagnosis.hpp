#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/model/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Why a runtime ran out of memory, read from its log. A log says what was asked for, what was free and what already
/// lay there; the estimator then tries what would help.

enum class LogRuntime : std::uint8_t {
    llama_cpp,
    ollama,
    lmstudio,
    vllm,
    sglang,
    pytorch,
    mlx,
    koboldcpp,
    tensorrt_llm,
    unknown,
};

/// What was being done when it failed.
enum class FailureStage : std::uint8_t {
    weights,
    kv_cache,
    compute,
    generation,
    mmproj,
    host,
    settings,
    per_buffer_limit,
    none,
};

enum class FailureCause : std::uint8_t {
    kv_too_large,
    weights_too_large,
    compute_too_large,
    generation_growth,
    other_process,
    per_buffer_limit,
    setting,
    host_memory,
    mmproj,
    draft,
    not_memory,
    none,
};

std::string_view name_of(LogRuntime runtime); ///< "llama.cpp"
std::string_view name_of(FailureStage stage); ///< "kv_cache"
std::string_view name_of(FailureCause cause); ///< "kv_too_large"

/// A figure and the line of the log (from 1) that shows it; line 0: worked out from others.
struct LogFigure {
    std::string name; ///< "requested", "free", "total", "n_ctx", "kv_cache", "weights", "compute", ...
    std::uint64_t value = 0;
    std::uint64_t line = 0;
    bool bytes = true; ///< else a plain number
};

/// A setting in effect and the line of the log that shows it; line 0: a person said it.
struct LogSetting {
    std::string name;  ///< "cache_type_k"
    std::string value; ///< as printed: "q8_0"
    std::uint64_t line = 0;
};

/// A line of the log that a bug report needs.
struct LogLine {
    std::uint64_t number = 0;
    std::string text;
};

/// Something to do about it.
struct DiagnosisAction {
    std::string kind; ///< as Suggestion::kind, and: other_process, split, utilization, graphs, per_buffer, ...
    std::string summary;
    std::vector<std::string> flags; ///< of the runtime, or an environment variable's assignment
    std::optional<Verdict> verdict; ///< what the estimator says of it, where the model is known
};

struct Diagnosis {
    bool oom = false; ///< memory was what failed
    LogRuntime runtime = LogRuntime::unknown;
    std::string program; ///< that uses the runtime's code and has options of its own: "LocalAI"; mostly empty
    FailureStage stage = FailureStage::none;
    FailureCause cause = FailureCause::none;
    bool time_known = true; ///< else stage `generation` may be one of the load: the log does not show when it failed
    bool at_check = false;  ///< refused by a check of the runtime's own, before anything was loaded
    bool training = false;  ///< of a model, of which only the weights are what they are elsewhere
    std::string device;     ///< as the log has it: "CUDA0", "GPU 1"; empty where it does not say
    std::string summary;
    std::vector<std::string> arithmetic; ///< sentences: what was asked, what was there, what lay there already
    std::vector<LogFigure> figures;      ///< each name once
    std::vector<LogSetting> settings;
    std::string model_name;       ///< as printed
    std::uint64_t model_line = 0; ///< where its name stands
    std::string model_id;         ///< of the catalog, by its name; empty where not known
    std::string model_guess;      ///< of the catalog, where the shape alone is known; others may have it, too
    std::string quant;
    std::uint64_t quant_line = 0;
    std::string gpu;                      ///< the device's name
    std::vector<DiagnosisAction> actions; ///< best first
    std::vector<std::string> missing;     ///< options that would tell more: "--model"
    std::vector<std::string> notes;
    std::string version; ///< of the runtime, as printed
    std::string build;   ///< of llama.cpp, "b6325", by what it prints; empty where not known, and for forks
    std::vector<LogLine> evidence;
    std::vector<std::string> private_names; ///< of users and hosts, as paths and prompts of the log show them

    const LogFigure* figure(std::string_view name) const; ///< or nullptr
};

/// Reads `log` to its end, in constant memory. Of several loads in it the last that failed counts. `hints` are what
/// the log does not show: model, quant, context, GPUs and free memory, each before what the log says. Throws Error for
/// hints that make no sense (an unknown model), and for a log that holds no text.
Diagnosis diagnose(const ByteStream& log, const Request& hints);

/// A component of the memory, as logged and as the estimator has it.
struct ComparedFigure {
    std::string component; ///< "weights", "kv_cache", "recurrent_state", "compute", "output"
    std::string device;    ///< "CUDA0"; "host"; "all" for all places together
    std::uint64_t logged = 0, predicted = 0;
    std::uint64_t line = 0;     ///< of the first logged part
    std::uint64_t rounding = 0; ///< by which the log's figures may be off
    std::string reason;         ///< why they differ, where that is known

    bool equal() const { return (logged > predicted ? logged - predicted : predicted - logged) <= rounding; }
};

struct Comparison {
    std::string model_name, model_id, quant;
    std::string model_guess; ///< as in a diagnosis
    LogRuntime runtime = LogRuntime::unknown;
    std::uint64_t n_ctx = 0;
    std::vector<ComparedFigure> figures;
    std::vector<std::string> notes;
    std::string reason; ///< why there is nothing to compare
};

/// Compares the last load of `log` that shows buffers with the estimate for the same settings.
Comparison compare(const ByteStream& log, const Request& hints);

/// `text` without what a public report should not show: paths (their last part stays), users, hosts, addresses, keys.
std::string redacted(std::string_view text);

/// The same, and without `names` of people and computers wherever they stand as words of their own.
std::string redacted(std::string_view text, const std::vector<std::string>& names);

/// The computer's name in the columns of journald or syslog; empty where `line` has none.
std::string host_of(std::string_view line);

} // namespace vramfit
