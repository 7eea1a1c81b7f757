#include "wording.hpp"

#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <variant>

namespace vramfit {
namespace {

using Words = std::vector<std::string>;
using Said = std::vector<std::pair<std::string_view, std::string>>; ///< settings of a profile and their values

/// The profile of data/runtimes.json that has the runtime's rules and words; empty where there is none.
std::string_view profile_of(LogRuntime runtime) {
    switch (runtime) {
    case LogRuntime::pytorch: return "transformers";
    case LogRuntime::tensorrt_llm: return "";
    case LogRuntime::unknown: return "llama.cpp";
    default: return name_of(runtime);
    }
}

/// Of a runtime that is no llama.cpp: what is nearest to llama.cpp's type.
std::string cache_dtype(const ServingProfile& engine, std::string_view type) {
    if (type == "f16" || type == "bf16" || type == "f32") return engine.dtypes.front().name;
    return std::ranges::min_element(engine.dtypes, {}, &CacheDtype::element_bytes)->name;
}

/// "1,1" of two.
std::string equal_shares(std::string_view n) {
    std::size_t count = 0;
    std::from_chars(n.data(), n.data() + n.size(), count);
    std::string shares = "1";
    for (std::size_t i = 1; i < std::min(count, max_devices); ++i) shares += ",1";
    return shares;
}

/// What is to be set, in the profile's names of settings.
Said settings_of(const RuntimeProfile& profile, std::string_view kind, const std::string& value) {
    const bool engine = profile.serving.has_value();
    if (kind == "ctx") return {{"n_ctx", value}};
    if (kind == "cache_type" && engine) return {{"cache_dtype", cache_dtype(*profile.serving, value)}};
    if (kind == "cache_type") return {{"cache_type_k", value}, {"cache_type_v", value}};
    if (kind == "ubatch") return {{engine ? "n_batch" : "n_ubatch", value}};
    if (kind == "kv_unified") return {{kind, ""}};
    if (kind == "mmproj") return {{"no_mmproj", ""}};
    if (kind == "fit") return {{"fit", "on"}};
    if (kind == "split" && engine) return {{"tensor_parallel", value}};
    if (kind == "split") return {{"tensor_split", equal_shares(value)}};
    if (kind == "utilization") return {{"memory_share", value}};
    if (kind == "graphs") return {{"no_cuda_graphs", ""}};
    return {{kind, value}}; // the others have one name
}

/// What no profile knows: runtimes that have none, a program beside the profile's, settings that the estimator does not
/// have, and versions before today's.
Words words_beside_profiles(LogRuntime runtime, std::string_view kind, const std::string& value) {
    if (runtime == LogRuntime::tensorrt_llm && kind == "utilization")
        return {"--kv_cache_free_gpu_memory_fraction", value};
    if (runtime == LogRuntime::mlx && kind == "ctx") return {"--max-kv-size", value}; // mlx_lm.generate, not the server
    if (runtime == LogRuntime::sglang && kind == "graphs") return {"--cuda-graph-max-bs", value}; // server_args.py
    if (runtime != LogRuntime::koboldcpp) return {};
    if (kind == "ubatch") return {"--blasbatchsize", value}; // the same: --batchsize is a name of 2025 for it
    if (kind == "flash_attn") return {"--flashattention"};   // koboldcpp.py: since 1.12x it goes without saying
    if (kind == "cache_type")                                // the same: older versions know no names of types
        return {"--quantkv", value == "q8_0" ? "1" : value.starts_with("q4") ? "2" : "0"};
    return {};
}

void add(Words& flags, const Words& words) {
    // Two settings may be one to the runtime.
    const bool said = std::search(flags.begin(), flags.end(), words.begin(), words.end()) != flags.end();
    if (!said) flags.insert(flags.end(), words.begin(), words.end());
}

/// Versions of these whose logs are still about have flash attention off, and no quantized cache without it.
bool had_flash_attention_off(LogRuntime runtime) {
    return runtime == LogRuntime::ollama || runtime == LogRuntime::koboldcpp;
}

RuntimeProfile profile_at(std::string_view id, const std::string& build) {
    return build.empty() ? find_runtime(id) : find_runtime_version(id, build);
}

Words flags_of_version(LogRuntime runtime, const std::string& build, std::string_view kind, std::string_view value) {
    const std::string text(value);
    Words flags;
    if (kind == "cache_type" && value.starts_with('q') && had_flash_attention_off(runtime))
        flags = flags_of_version(runtime, build, "flash_attn", "on");
    if (const Words words = words_beside_profiles(runtime, kind, text); !words.empty()) {
        add(flags, words);
        return flags;
    }
    const std::string_view id = profile_of(runtime);
    if (id.empty()) return {};
    const RuntimeProfile profile = profile_at(id, build);
    if (!build.empty() && kind == "cache_type" && value.starts_with('q') && profile.flash_attn == FlashAttention::off)
        add(flags, profile.written("flash_attn", "on").words);
    for (const auto& [setting, said] : settings_of(profile, kind, text)) {
        if (profile.can_set(setting)) add(flags, profile.written(setting, said).words);
    }
    return flags;
}

/// A context of `n_ctx` tokens in all, for so many slots.
Words context_of_slots(const Diagnosis& diagnosis, std::uint64_t n_ctx, std::uint64_t slots) {
    const bool each = diagnosis.runtime == LogRuntime::ollama && slots > 1;
    return flags_of(diagnosis, "ctx", std::to_string(each ? n_ctx / slots : n_ctx));
}

// ---- suggestions of the estimator -------------------------------------------------------------------------------------

std::string text_of(const SettingValue& value) {
    if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return std::get<bool>(value) ? "on" : "";
}

/// Another model or card, and what is asked for today and is to be left out.
bool is_no_option(std::string_view name) {
    static constexpr std::array names{"quant", "model", "gpu", "draft", "swa_full", "split_mode"};
    return std::ranges::find(names, name) != names.end();
}

std::string_view kind_of(std::string_view name) {
    if (name == "cache_type_k" || name == "cache_type_v") return "cache_type"; // suggested for both at once
    if (name == "n_ubatch") return "ubatch";
    return name == "mmproj_offload" ? "mmproj" : name;
}

/// The context that is suggested, for the slots that are suggested with it or those of the log.
Words suggested_context(const Diagnosis& diagnosis, const Suggestion& suggestion) {
    const auto set = [&](std::string_view name) -> std::optional<std::uint64_t> {
        const auto found = std::ranges::find(suggestion.set, name, [](const auto& item) { return item.first; });
        return found == suggestion.set.end() ? std::nullopt : std::optional(std::get<std::uint64_t>(found->second));
    };
    const std::uint64_t n_ctx = set("n_ctx").value_or(0);
    const auto slots = set("parallel");
    return slots ? context_of_slots(diagnosis, n_ctx, *slots) : context_flags(diagnosis, n_ctx);
}

} // namespace

std::vector<std::string> flags_of(LogRuntime runtime, std::string_view kind, std::string_view value) {
    return flags_of_version(runtime, "", kind, value);
}

std::vector<std::string> flags_of(const Diagnosis& diagnosis, std::string_view kind, std::string_view value) {
    if (const ProgramInfo* const program = program_of(diagnosis)) return program_words(*program, kind, value);
    return flags_of_version(diagnosis.runtime, diagnosis.build, kind, value);
}

std::vector<std::string> context_flags(const Diagnosis& diagnosis, std::uint64_t n_ctx) {
    const LogFigure* parallel = diagnosis.figure("n_parallel");
    return context_of_slots(diagnosis, n_ctx, parallel == nullptr ? 1 : parallel->value);
}

std::vector<std::string> flags_of(const Diagnosis& diagnosis, const Suggestion& suggestion) {
    Words flags;
    for (const auto& [name, value] : suggestion.set) {
        if (is_no_option(name)) continue;
        const Words words = name == "n_ctx" ? suggested_context(diagnosis, suggestion)
                                            : flags_of(diagnosis, kind_of(name), text_of(value));
        if (words.empty()) return {};
        add(flags, words);
    }
    return flags;
}

const ProgramInfo* program_of(const Diagnosis& diagnosis) { return find_program(diagnosis.program); }

std::string_view engine_of(const Diagnosis& diagnosis) {
    return runs_llama_cpp(diagnosis.runtime) || program_of(diagnosis) != nullptr ? "" : profile_of(diagnosis.runtime);
}

bool runs_llama_cpp(const Diagnosis& diagnosis) {
    const ProgramInfo* const program = program_of(diagnosis);
    return program == nullptr ? runs_llama_cpp(diagnosis.runtime) : program->llama_cpp;
}

bool runs_llama_cpp(LogRuntime runtime) {
    return runtime == LogRuntime::llama_cpp || runtime == LogRuntime::ollama || runtime == LogRuntime::lmstudio ||
           runtime == LogRuntime::koboldcpp || runtime == LogRuntime::unknown;
}

} // namespace vramfit
