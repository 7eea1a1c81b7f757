// What LM Studio, MLX, koboldcpp, TensorRT-LLM and operating systems print.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>
#include <cmath>

namespace vramfit {
namespace {

using namespace log_text;

template <LogRuntime Runtime>
void read_sign(LogReader& reader, const Mention&) {
    reader.sign(Runtime);
}

/// Names of programs are names of folders, too, and of whoever publishes models.
template <LogRuntime Runtime>
void read_name(LogReader& reader, const Mention& mention) {
    if (!in_path(mention.line, mention.at)) reader.sign(Runtime);
}

// ---- LM Studio --------------------------------------------------------------------------------------------------------

/// Figures of logs are read as powers of two: "GB" as 2^30.
std::uint64_t decimal_bytes(std::uint64_t bytes) {
    constexpr double ratio = 1e9 / static_cast<double>(std::uint64_t{1} << 30U);
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * ratio));
}

/// "Model loading was stopped due to insufficient system resources. Under the current settings, this model requires
/// approximately 22.92 GB of memory, ..." The figure is LM Studio's own estimate, in powers of ten by its unit, and can be
/// "NaN undefined".
void read_guardrail(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::lmstudio);
    const auto text = after(mention.line, "requiresapproximately");
    LogRefusal refusal;
    refusal.line = mention.number;
    const auto bytes = text ? size_in(*text) : std::nullopt;
    if (text && !bytes) return reader.failed(FailureStage::settings, mention, FailureCause::setting);
    const bool decimal = text && after(*text, "GB") && text->find("GB") < text->find("of");
    if (bytes) refusal.bytes = Logged{decimal ? decimal_bytes(*bytes) : *bytes, mention.number};
    reader.load().refusal = refusal;
    reader.set("guardrail", 1, mention.number);
    reader.failed(FailureStage::weights, mention);
}

void collect_guardrail(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::lmstudio);
    reader.evidence(mention);
    reader.collect(mention, read_guardrail);
}

/// "Model load size estimate with raw num offload layers 'max' and context length '8192':", "Model: 14.87 GB", "Context:
/// 936.03 MB", "Total: 15.81 GB" on lines of their own: what LM Studio expects, in powers of ten.
void read_load_estimate(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    if (const auto n = after(text, "contextlength'")) reader.set("n_ctx", count(*n), mention.number);
    const auto set = [&](std::string_view key, std::string_view mark) {
        const auto said = after(text, mark);
        const auto bytes = said ? size_in(*said) : std::nullopt;
        const bool giga = said && said->find("GB") < 10;
        if (bytes && giga) reader.set(key, decimal_bytes(*bytes), mention.number);
    };
    set("estimate_weights", "':Model:");
    set("estimate_required", "Total:");
}

void collect_load_estimate(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::lmstudio);
    reader.collect(mention, read_load_estimate);
}

void read_not_enough(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::lmstudio);
    reader.set("guardrail", 1, mention.number);
    reader.failed(FailureStage::weights, mention);
}

// ---- MLX --------------------------------------------------------------------------------------------------------------

/// "mlx_lm.generate --model mlx-community/Qwen2.5-32B-Instruct-4bit"
void read_mlx(LogReader& reader, const Mention& mention) {
    read_name<LogRuntime::mlx>(reader, mention);
    const auto said = after(mention.rest, "--model");
    if (!said || (!said->starts_with(' ') && !said->starts_with('='))) return;
    reader.load().name = std::string(word(said->substr(1)).substr(0, 200));
}

/// "[WARNING] Generating with a model that requires 48000 MB which is close to the maximum recommended size of 49152 MB.":
/// MB are 2^20 bytes (mlx_lm/generate.py).
void read_mlx_warning(LogReader& reader, const Mention& mention) {
    const auto limit = after(mention.rest, "maximum recommended size of ");
    if (!limit) return;
    reader.sign(LogRuntime::mlx);
    reader.evidence(mention);
    reader.set("weights", size_in(mention.rest), mention.number);
    reader.set("gpu_total", size_in(*limit), mention.number);
    reader.note(
        "MLX warned that the model alone takes nearly all that the GPU should use: slow at first, then it fails");
}

/// "[metal::malloc] Attempting to allocate 20 bytes which is greater than the maximum allowed buffer size of 10 bytes."
void read_mlx_limit(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::mlx);
    LogRefusal refusal;
    refusal.line = mention.number;
    refusal.device = "Metal";
    refusal.per_buffer_limit = true;
    if (const auto bytes = after(mention.line, "to allocate ")) {
        if (const auto asked = size_in(*bytes)) refusal.bytes = Logged{*asked, mention.number};
    }
    if (const auto limit = size_in(mention.rest)) refusal.limit = Logged{*limit, mention.number};
    reader.load().refusal = refusal;
    reader.failed(FailureStage::per_buffer_limit, mention);
}

// ---- MLC --------------------------------------------------------------------------------------------------------------

/// "Insufficient GPU memory error: The available single GPU memory is 10240.000 MB, which is less than the sum of model
/// weight size (12000.0 MB) and temporary buffer size (500.0 MB)."
void read_mlc(LogReader& reader, const Mention& mention) {
    if (const auto free = after(mention.rest, "memory is ")) reader.set("free_now", size_in(*free), mention.number);
    if (const auto size = after(mention.rest, "weight size (")) reader.set("weights", size_in(*size), mention.number);
    reader.failed(FailureStage::weights, mention);
}

/// "Cannot estimate KV cache capacity. The model weight size 3790469120 may be larger than GPU memory size 25438126080"
void read_mlc_capacity(LogReader& reader, const Mention& mention) {
    if (const auto size = after(mention.rest, "weight size ")) reader.set("weights", count(*size), mention.number);
    if (const auto total = after(mention.rest, "memory size ")) reader.set("gpu_total", count(*total), mention.number);
    reader.failed(FailureStage::kv_cache, mention);
}

// ---- KoboldCpp --------------------------------------------------------------------------------------------------------

/// "Namespace(blasbatchsize=512, contextsize=65536, gpulayers=43, model=None, model_param='C:\\AI\\x.gguf', quantkv=0)":
/// what its command line came to, with Python's escapes.
void read_kobold_arguments(LogReader& reader, const Mention& mention) {
    const std::string_view line = mention.line.substr(mention.at);
    const auto n_ctx = after(line, "contextsize=");
    if (!n_ctx) return; // of another program
    reader.sign(LogRuntime::koboldcpp);
    Load& load = reader.load();
    const auto set_option = [&](std::string_view mark, std::string_view option) {
        const auto said = after(line, mark);
        if (said && count(*said)) load.options.insert_or_assign(std::string(option), std::to_string(*count(*said)));
    };
    set_option("contextsize=", "ctx");
    set_option("gpulayers=", "gpu-layers");
    load.options_line = mention.number;
    auto batch = after(line, "blasbatchsize=");
    if (!batch) batch = after(line, " batchsize="); // since 2025
    if (batch) reader.set_once("n_ubatch", count(*batch), mention.number);
    for (const std::string_view mark : {" model='", "(model='", "model_param='"}) {
        const auto path = after(line, mark);
        if (path && load.path.empty()) load.path = std::string(before(*path, "'").substr(0, 500));
    }
    load.windows = load.windows || load.path.find(":\\") != std::string::npos;
}

/// "Processing Prompt [BLAS] (3584 / 5525 tokens)", "Failed to predict at 43! Check your context buffer sizes!": it works
/// on a prompt, so the model lies there (koboldcpp's gpttype_adapter.cpp).
void read_kobold_works(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::koboldcpp);
    auto& failure = reader.load().failure;
    if (!failure) return reader.ready(mention.number);
    if (failure->stage == FailureStage::generation) failure->time_known = true;
}

// ---- TensorRT-LLM -----------------------------------------------------------------------------------------------------

void read_engine_size(LogReader& reader, const Mention& mention) {
    reader.set("weights", size_in(mention.rest), mention.number);
}

void read_allocated(LogReader& reader, const Mention& mention) {
    const std::string_view what = mention.rest.substr(0, 120);
    const auto bytes = size_in(what);
    if (what.find("execution context memory") != std::string_view::npos) reader.set("compute", bytes, mention.number);
    if (what.find("in paged KV cache") == std::string_view::npos) return;
    reader.set("kv_cache", bytes, mention.number);
    if (const auto tokens = after(what, "KV cache (")) reader.set("kv_tokens", count(*tokens), mention.number);
}

/// "Memory usage when calculating max tokens in paged kv cache: total: 47.54 GiB, available: 30.40 GiB"
void read_paged(LogReader& reader, const Mention& mention) {
    if (const auto total = after(mention.rest, "total: ")) reader.set("gpu_total", size_in(*total), mention.number);
    if (const auto free = after(mention.rest, "available: ")) reader.set("free", size_in(*free), mention.number);
}

void read_max_sequence(LogReader& reader, const Mention& mention) {
    reader.set("n_ctx", count(mention.rest), mention.number);
}

void read_trt_error(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("out of memory") != std::string_view::npos)
        reader.failed(reader.load().number("weights") ? FailureStage::kv_cache : FailureStage::weights, mention);
}

/// "[TRT] [W] Requested amount of GPU memory (24793579520 bytes) could not be allocated.": while an engine is built.
void read_trt_request(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("could not be allocated") == std::string_view::npos) return;
    reader.load().refusal = refusal_of(mention, "", size_in(mention.rest));
    reader.failed(FailureStage::weights, mention);
}

/// "Executor creation failed due to insufficient GPU memory.", and below it "The following component could not be created:
/// KV cache", "Total GPU memory (GiB): 23.50", "Free GPU memory before component creation attempt (GiB): 3.20".
void read_executor(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::tensorrt_llm);
    if (!reader.load().failure) reader.failed(FailureStage::weights, mention);
}

void read_component(LogReader& reader, const Mention& mention) {
    auto& failure = reader.load().failure;
    if (!failure) return;
    const std::string_view what = trimmed(mention.rest);
    failure->stage = what.find("KV cache") != std::string_view::npos ? FailureStage::kv_cache
                     : what == "Model"                               ? FailureStage::weights
                                                                     : FailureStage::compute;
    failure->time_known = true;
}

template <const auto& Key>
void read_gibibytes(LogReader& reader, const Mention& mention) {
    reader.set(Key, size_in(std::string(word(mention.rest)) + "GiB"), mention.number);
}

constexpr std::string_view total_key = "gpu_total", free_key = "free_now";

// ---- LMCache ----------------------------------------------------------------------------------------------------------

/// "LMCache WARNING: Failed to allocate memory for tensor(...) because no memory is available": what it keeps of caches in
/// the computer's memory found no room; the engine goes on.
void read_lmcache(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("because no memory is available") == std::string_view::npos) return;
    reader.evidence(mention);
    reader.note("LMCache's own store in the computer's memory was full, and it keeps less: no failure of the engine");
}

// ---- Requests ---------------------------------------------------------------------------------------------------------

/// llama.cpp's "the request exceeds the available context size", the engines' "This model's maximum context length is 8192
/// tokens. However, you requested 9000 tokens".
void read_too_long(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.note(
        "a request was longer than the context that the model runs with: that is a setting, not missing memory");
}

// ---- Operating systems ------------------------------------------------------------------------------------------------

void read_windows(LogReader& reader, const Mention&) { reader.load().windows = true; }

/// "/home/jo/x", "C:\Users\Jo Smith\x": a folder that has its user's name. A report must not show it elsewhere, either.
void read_home(LogReader& reader, const Mention& mention) {
    constexpr std::size_t longest_name = 32;
    const std::string_view rest =
        mention.rest.substr(std::min(mention.rest.find_first_not_of("/\\"), mention.rest.size()));
    std::string_view folder = rest.substr(0, std::min(rest.find_first_of("/\\"), longest_name));
    const bool ends = folder.size() < rest.size() && folder.size() < longest_name;
    if (!ends || folder.find_first_of("\"':=") != std::string_view::npos)
        folder = rest.substr(0, rest.find_first_of(" /\\\"':;,)"));
    while (!folder.empty()) { // "Jo Smith": either may stand alone
        const std::size_t word = std::min(folder.find(' '), folder.size());
        if (word > 0) reader.private_name(folder.substr(0, word));
        folder.remove_prefix(std::min(word + 1, folder.size()));
    }
}

constexpr std::array rules{
    Rule{"/home/", read_home},
    Rule{"/Users/", read_home},
    Rule{"\\Users\\", read_home},
    Rule{":\\Users\\", read_windows},
    Rule{"C:/Users/", read_windows},
    Rule{":\\Program", read_windows},
    Rule{"AppData\\", read_windows},
    Rule{"ollama.exe", read_windows},
    Rule{"server.exe", read_windows},
    Rule{"python.exe", read_windows},
    Rule{"llama-cli.exe", read_windows},
    Rule{"koboldcpp.exe", read_windows},
    Rule{"with MSVC ", read_windows},
    Rule{"w64-mingw32", read_windows},
    Rule{"  WDDM ", read_windows},
    Rule{"(WDDM)", read_windows},
    Rule{"shared GPU memory", read_windows},
    Rule{"LM Studio", read_name<LogRuntime::lmstudio>},
    Rule{"LM STUDIO", read_name<LogRuntime::lmstudio>},
    Rule{"[LMSInternal", read_sign<LogRuntime::lmstudio>},
    Rule{"lmstudio", read_name<LogRuntime::lmstudio>},
    Rule{"lms load", read_sign<LogRuntime::lmstudio>},
    Rule{"insufficient system resources", collect_guardrail},
    Rule{"Model load size estimate with ", collect_load_estimate},
    Rule{"Not enough resources to load the model", read_not_enough},
    Rule{"mlx_lm", read_mlx},
    Rule{"Generating with a model that requires ", read_mlx_warning},
    Rule{"Insufficient GPU memory error", read_mlc},
    Rule{"[metal::malloc]", read_sign<LogRuntime::mlx>},
    Rule{"greater than the maximum allowed buffer size of", read_mlx_limit},
    Rule{"KoboldCpp", read_name<LogRuntime::koboldcpp>},
    Rule{"koboldcpp", read_name<LogRuntime::koboldcpp>},
    Rule{"koboldcpp\\ggml", read_sign<LogRuntime::koboldcpp>}, // where its errors come from
    Rule{"koboldcpp/ggml", read_sign<LogRuntime::koboldcpp>},
    Rule{"Processing Prompt [", read_kobold_works},
    Rule{"Failed to predict at ", read_kobold_works},
    Rule{"Namespace(", read_kobold_arguments},
    Rule{"LMCache WARNING: Failed to allocate", read_lmcache},
    Rule{"exceeds the available context size", read_too_long},
    Rule{"model's maximum context length is ", read_too_long},
    Rule{"[TensorRT-LLM]", read_sign<LogRuntime::tensorrt_llm>},
    Rule{"[TRT-LLM]", read_sign<LogRuntime::tensorrt_llm>},
    Rule{"Requested amount of GPU memory (", read_trt_request},
    Rule{"Cannot estimate KV cache capacity", read_mlc_capacity},
    Rule{"Executor creation failed due to insufficient GPU memory", read_executor},
    Rule{"The following component could not be created: ", read_component},
    Rule{"Total GPU memory (GiB): ", read_gibibytes<total_key>},
    Rule{"component creation attempt (GiB): ", read_gibibytes<free_key>},
    Rule{"Loaded engine size: ", read_engine_size},
    Rule{"[MemUsageChange] Allocated ", read_allocated},
    Rule{"max tokens in paged kv cache", read_paged},
    Rule{"maxSequenceLen: ", read_max_sequence},
    Rule{"CUDA runtime error in", read_trt_error},
};

} // namespace

std::span<const Rule> other_rules() { return rules; }

} // namespace vramfit
