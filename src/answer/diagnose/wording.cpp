#include "wording.hpp"

#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

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
    if (kind == "flash_attn") return {"--flashattention"}; // koboldcpp.py: since 1.12x it goes without saying
    if (kind == "cache_type")                              // the same: older versions know no names of types
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

} // namespace

std::vector<std::string> flags_of(LogRuntime runtime, std::string_view kind, std::string_view value) {
    const std::string text(value);
    Words flags;
    if (kind == "cache_type" && value.starts_with('q') && had_flash_attention_off(runtime))
        flags = flags_of(runtime, "flash_attn", "on");
    if (const Words words = words_beside_profiles(runtime, kind, text); !words.empty()) {
        add(flags, words);
        return flags;
    }
    const std::string_view id = profile_of(runtime);
    if (id.empty()) return {};
    const RuntimeProfile profile = find_runtime(id);
    for (const auto& [setting, said] : settings_of(profile, kind, text)) {
        if (profile.can_set(setting)) add(flags, profile.written(setting, said).words);
    }
    return flags;
}

std::vector<std::string> context_flags(const Diagnosis& diagnosis, std::uint64_t n_ctx) {
    const LogFigure* parallel = diagnosis.figure("n_parallel");
    const bool each = diagnosis.runtime == LogRuntime::ollama && parallel != nullptr && parallel->value > 1;
    return flags_of(diagnosis.runtime, "ctx", std::to_string(each ? n_ctx / parallel->value : n_ctx));
}

std::string_view engine_of(LogRuntime runtime) { return runs_llama_cpp(runtime) ? "" : profile_of(runtime); }

bool runs_llama_cpp(LogRuntime runtime) {
    return runtime == LogRuntime::llama_cpp || runtime == LogRuntime::ollama || runtime == LogRuntime::lmstudio ||
           runtime == LogRuntime::koboldcpp || runtime == LogRuntime::unknown;
}

} // namespace vramfit
