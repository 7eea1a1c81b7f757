#include "plain_actions.hpp"

#include "log_text.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vramfit {
namespace {

/// Takes down actions of one diagnosis; those that the runtime has no words for are left out.
class Advice {
public:
    explicit Advice(Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

    void option(std::string_view kind, std::string_view value, std::string summary) {
        auto flags = flags_of(diagnosis_.runtime, kind, value);
        if (!flags.empty()) diagnosis_.actions.push_back({std::string(kind), std::move(summary), std::move(flags), {}});
    }
    void context(std::uint64_t n_ctx, std::string summary) {
        auto flags = context_flags(diagnosis_, n_ctx);
        if (!flags.empty()) diagnosis_.actions.push_back({"ctx", std::move(summary), std::move(flags), {}});
    }
    void plain(std::string_view kind, std::string summary, std::vector<std::string> flags = {}) {
        diagnosis_.actions.push_back({std::string(kind), std::move(summary), std::move(flags), {}});
    }

private:
    Diagnosis& diagnosis_;
};

std::uint64_t rounded_down(std::uint64_t n_ctx) {
    for (const std::uint64_t step : {std::uint64_t{4096}, std::uint64_t{1024}, std::uint64_t{256}}) {
        if (n_ctx >= step) return n_ctx / step * step;
    }
    return 0;
}

/// How much of it was not there.
std::uint64_t missing_of(const Diagnosis& diagnosis, const Budget& budget) {
    const LogFigure* asked = diagnosis.figure("requested");
    if (asked == nullptr || !budget.left) return 0;
    const std::uint64_t spilled =
        budget.free && !budget.free_is_left ? budget.used - std::min(budget.used, budget.free->value) : 0;
    return asked->value + spilled - std::min(asked->value, *budget.left);
}

/// Whether a smaller type, which saves nearly half of the cache, leaves what the compute buffer misses.
bool cache_type_is_enough(const Diagnosis& diagnosis, const Budget& budget) {
    return missing_of(diagnosis, budget) < budget.cache / 5 * 2;
}

/// The context whose cache is smaller by what the compute buffer misses; 0 where even none would do.
std::uint64_t context_beside_compute(std::uint64_t n_ctx, std::uint64_t missing, std::uint64_t cache) {
    constexpr std::uint64_t room = 128 * mib;
    const double share = static_cast<double>(missing + room) / static_cast<double>(cache);
    return share < 1 ? rounded_down(static_cast<std::uint64_t>((1 - share) * static_cast<double>(n_ctx))) : 0;
}

/// A context whose share of the logged request is what was left, with room for the compute buffer.
std::uint64_t context_that_fits(const Diagnosis& diagnosis, const Budget& budget) {
    if (const LogFigure* most = diagnosis.figure("max_ctx")) return most->value;
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    const LogFigure* asked = diagnosis.figure("requested");
    if (n_ctx == nullptr) return 0;
    if (diagnosis.stage == FailureStage::kv_cache && asked != nullptr && asked->value > 0 && budget.left) {
        constexpr std::uint64_t room = 512 * mib;
        const std::uint64_t left = *budget.left - std::min(*budget.left, room);
        const double share = static_cast<double>(left) / static_cast<double>(asked->value);
        return share < 1 ? rounded_down(static_cast<std::uint64_t>(share * static_cast<double>(n_ctx->value))) : 0;
    }
    const std::uint64_t missing = missing_of(diagnosis, budget);
    if (diagnosis.stage == FailureStage::compute && missing > 0 && budget.cache > 0)
        return context_beside_compute(n_ctx->value, missing, budget.cache);
    if (diagnosis.stage == FailureStage::kv_cache && asked == nullptr && budget.left)
        // Nothing is known of the model: 128 KiB a token is what many of 7 to 9 billion parameters take.
        return rounded_down(std::min(*budget.left / (128 * kib) / 2, n_ctx->value / 2));
    return rounded_down(n_ctx->value / 2);
}

/// "0.95"
std::string fixed_text(double share) {
    char text[16] = {};
    std::snprintf(text, sizeof text, "%.2f", std::clamp(share, 0.05, 1.0));
    return text;
}

void advise_context(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    const std::uint64_t n_ctx = context_that_fits(diagnosis, budget);
    if (n_ctx > 0) {
        const bool known = diagnosis.figure("max_ctx") != nullptr;
        const bool counted =
            diagnosis.stage == FailureStage::kv_cache && diagnosis.figure("requested") != nullptr && budget.left;
        advice.context(n_ctx, known     ? "the runtime's own figure for the longest context that fits"
                              : counted ? "a shorter context: the cache's share of what was left"
                                        : "a shorter context");
    } else if (diagnosis.figure("n_ctx") == nullptr) {
        advice.option("ctx", "8192", "a shorter context: the cache grows with every token of it");
    }
}

void advise_cache_type(Advice& advice, const Diagnosis& diagnosis) {
    for (const LogSetting& setting : diagnosis.settings) {
        if (setting.name != "cache_type_k") continue;
        if (setting.value == "q8_0")
            return advice.option("cache_type", "q4_0", "a cache of 4 bits: about half of q8_0");
        if (setting.value != "f16" && setting.value != "auto" && setting.value != "bf16") return;
    }
    advice.option("cache_type", "q8_0", "a cache of 8 bits: about half of f16");
}

/// LM Studio's context where nobody sets one (lms load --help).
void advise_guardrail(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    if (diagnosis.figure("n_ctx") == nullptr)
        advice.option("ctx", "4096", "LM Studio's own default: the log does not show the context, which may be longer");
    else
        advise_context(advice, diagnosis, budget);
    advice.plain("setting", "where the estimate is wrong (sliding windows, long contexts): in the settings, set the "
                            "guardrail for loading models to a more relaxed level");
    advice.plain("quant", "a smaller quantization of the same model");
}

void advise_weights(Advice& advice, const Diagnosis& diagnosis) {
    const bool llama = runs_llama_cpp(diagnosis.runtime);
    advice.plain("quant", llama ? "a smaller quantization of the same model"
                                : "a quantized checkpoint (AWQ, GPTQ, FP8) or a smaller model");
    const LogFigure* layers = diagnosis.figure("gpu_layers_of");
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    if (llama && diagnosis.stage == FailureStage::weights && layers != nullptr && asked != nullptr && free != nullptr &&
        asked->value > free->value) {
        constexpr double room = 0.8; // for cache and compute buffer
        const double share = room * static_cast<double>(free->value) / static_cast<double>(asked->value);
        advice.option("gpu_layers",
                      std::to_string(static_cast<std::uint64_t>(share * static_cast<double>(layers->value))),
                      "fewer layers on the GPU, the rest in RAM (slower)");
    } else if (llama) {
        advice.option("fit", "", "llama.cpp then places as many layers as fit, the rest in RAM");
    }
    advice.option("split", "2", "several GPUs share the weights");
}

/// The variable by which the program sees another card, where the log shows that there is one.
std::string other_card(const Diagnosis& diagnosis, const Load& load) {
    const std::string& name = diagnosis.device;
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const auto failed = digits < name.size() ? log_text::count(std::string_view(name).substr(digits)) : std::nullopt;
    if (!failed || (*failed == 0 && load.devices.size() < 2)) return "";
    const bool hip = load.number("hip") || name.starts_with("ROCm");
    const std::string_view variable = hip                          ? "HIP_VISIBLE_DEVICES="
                                      : name.starts_with("Vulkan") ? "GGML_VK_VISIBLE_DEVICES="
                                                                   : "CUDA_VISIBLE_DEVICES=";
    return std::string(variable) + (*failed == 0 ? "1" : "0");
}

void advise_other_process(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    const LogFigure* others = diagnosis.figure("others");
    advice.plain("other_process",
                 others != nullptr
                     ? "free the " + format_gib(others->value) +
                           " that others hold there: see nvidia-smi (rocm-smi) for their processes"
                     : "end what else holds memory of the card: see nvidia-smi (rocm-smi) for its processes");
    if (diagnosis.runtime == LogRuntime::vllm && diagnosis.figure("free") != nullptr &&
        diagnosis.figure("total") != nullptr) {
        const double share = static_cast<double>(diagnosis.figure("free")->value) /
                             static_cast<double>(std::max<std::uint64_t>(diagnosis.figure("total")->value, 1));
        advice.option("utilization", fixed_text(std::floor(share * 100) / 100),
                      "a share that is free; it counts the whole card, others included");
    }
    if (const std::string variable = other_card(diagnosis, load); !variable.empty())
        advice.plain("gpu", "or use another card", {variable});
    advice.plain("quant", runs_llama_cpp(diagnosis.runtime)
                              ? "or a smaller quantization or context: what they leave must be enough"
                              : "or a quantized checkpoint (AWQ, GPTQ, FP8): what they leave must be enough");
}

/// The share of the card that an engine was told to take, as printed.
std::optional<double> share_of(const Diagnosis& diagnosis) {
    for (const LogSetting& setting : diagnosis.settings) {
        if (setting.name == "gpu_memory_utilization" || setting.name == "mem_fraction_static")
            return log_text::number(setting.value);
    }
    return std::nullopt;
}

/// The share of the card with which what was missing for one request would be there; where the log does not say that,
/// the most that is usual. Nothing where more than that is in use or wanted.
std::optional<double> share_that_fits(const Diagnosis& diagnosis) {
    const double most = diagnosis.runtime == LogRuntime::vllm ? 0.95 : 0.9;
    const double share = share_of(diagnosis).value_or(most - 0.05); // the engines' own defaults, or near them
    if (share >= most) return std::nullopt;
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    const LogFigure* total = diagnosis.figure("total");
    const LogFigure* missing = diagnosis.figure("kv_missing");
    if (total == nullptr || total->value == 0) return most;
    std::uint64_t bytes = missing == nullptr ? 0 : missing->value;
    if (asked != nullptr && free != nullptr) bytes = asked->value - std::min(asked->value, free->value);
    if (bytes == 0) return most;
    const double wanted = share + static_cast<double>(bytes) / static_cast<double>(total->value);
    const double rounded = std::ceil(wanted * 100) / 100;
    return rounded <= most ? std::optional(rounded) : std::nullopt;
}

/// A share of the card that leaves room for what was missing beside it, always smaller than the one in effect.
std::string smaller_share(const Diagnosis& diagnosis) {
    const double share = share_of(diagnosis).value_or(diagnosis.runtime == LogRuntime::sglang ? 0.85 : 0.9);
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    const LogFigure* total = diagnosis.figure("total");
    double missing = 0;
    if (asked != nullptr && free != nullptr && total != nullptr && asked->value > free->value && total->value > 0)
        missing = static_cast<double>(asked->value - free->value) / static_cast<double>(total->value);
    constexpr double least = 0.05, rest = 0.01; // a step that is felt; what else grows
    return fixed_text(std::floor((share - std::max(least, missing + rest)) * 100 + 1e-6) / 100);
}

/// "--cuda-graph-max-bs": half of what the log shows, or what SGLang's own message names.
void advise_graphs(Advice& advice, const Load& load) {
    const auto batch = load.number("graph_batch");
    const std::uint64_t smaller = batch && batch->value > 1 && batch->value <= 32 ? batch->value / 2 : 16;
    advice.option("graphs", std::to_string(smaller), "graphs of smaller batches: fewer are captured at the start");
}

/// vLLM and SGLang take a share of the card, and put as many tokens into it as fit beside the weights: a request of the
/// longest length must fit.
void advise_engine_kv(Advice& advice, const Diagnosis& diagnosis) {
    constexpr std::uint64_t block = 16; // tokens of a block of vLLM's cache (vllm/config)
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    const LogFigure* most = diagnosis.figure("max_ctx");
    std::uint64_t fits = most == nullptr ? 0 : most->value;
    if (most == nullptr && asked != nullptr && free != nullptr && n_ctx != nullptr && asked->value > free->value) {
        const double share = static_cast<double>(free->value) / static_cast<double>(asked->value);
        fits = static_cast<std::uint64_t>(share * static_cast<double>(n_ctx->value)) / block * block;
    }
    if (fits > 0)
        advice.option("ctx", std::to_string(fits),
                      most == nullptr ? "what the cache's memory holds, by the log's own figures"
                                      : "the runtime's own figure for the longest context that fits");
    if (const auto share = share_that_fits(diagnosis))
        advice.option("utilization", fixed_text(*share), "a larger share of the card for weights and cache");
    if (fits == 0 && n_ctx != nullptr)
        advice.option("ctx", std::to_string(rounded_down(n_ctx->value / 2)), "a shorter context");
    advise_cache_type(advice, diagnosis);
    advice.plain("quant", "a quantized checkpoint (AWQ, GPTQ, FP8) or a smaller model");
}

void advise_kv(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    if (diagnosis.runtime == LogRuntime::vllm || diagnosis.runtime == LogRuntime::sglang)
        return advise_engine_kv(advice, diagnosis);
    advise_context(advice, diagnosis, budget);
    if (diagnosis.stage != FailureStage::compute || cache_type_is_enough(diagnosis, budget))
        advise_cache_type(advice, diagnosis);
    const LogFigure* parallel = diagnosis.figure("n_parallel");
    if (diagnosis.runtime == LogRuntime::ollama && parallel != nullptr && parallel->value > 1)
        advice.option("parallel", "1", "one request at a time: each has a context of its own");
    advice.plain("quant", "a smaller quantization, or a smaller model, leaves more for the cache");
}

/// Smaller physical batches, as far down as the buffer's share of them needs it; nothing where none is small enough.
void advise_ubatch(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    const LogFigure* logged = diagnosis.figure("n_ubatch");
    const LogFigure* asked = diagnosis.figure("requested");
    const std::uint64_t ubatch = logged == nullptr ? 512 : std::max<std::uint64_t>(logged->value, 1);
    constexpr std::uint64_t least = 32; // every prompt would crawl
    for (std::uint64_t smaller = ubatch > 512 ? 512 : 256; smaller >= least; smaller /= 2) {
        if (smaller >= ubatch) continue;
        const double share = static_cast<double>(smaller) / static_cast<double>(ubatch);
        const bool too_large = asked != nullptr && budget.left &&
                               share * static_cast<double>(asked->value) > static_cast<double>(*budget.left);
        if (too_large) continue;
        return advice.option("ubatch", std::to_string(smaller),
                             "smaller physical batches: the compute buffer shrinks with them");
    }
}

void advise_compute(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    const auto off = std::ranges::find_if(diagnosis.settings, [](const LogSetting& setting) {
        return setting.name == "flash_attn" && (setting.value == "0" || setting.value == "disabled");
    });
    if (off != diagnosis.settings.end())
        advice.option("flash_attn", "on",
                      "flash attention: no buffer that grows with the square of the batch and context");
    if (diagnosis.runtime == LogRuntime::vllm) {
        advice.option("parallel", "64", "fewer sequences at once: the dummy run at start is smaller");
        advice.option("ubatch", "2048", "smaller steps of a prompt: less activation memory");
    } else if (diagnosis.runtime == LogRuntime::sglang) {
        const auto chunk = load.number("chunked_prefill");
        const std::uint64_t steps = chunk && chunk->value > 1 && chunk->value <= 2048 ? chunk->value / 2 : 2048;
        if (load.number("graph_capture")) advise_graphs(advice, load);
        if (!load.number("graph_capture"))
            advice.option("ubatch", std::to_string(steps), "smaller steps of a prompt: less activation memory");
        advice.option("utilization", smaller_share(diagnosis), "less for weights and cache, more for what runs");
    } else if (runs_llama_cpp(diagnosis.runtime)) {
        advise_ubatch(advice, diagnosis, budget);
    }
    advise_context(advice, diagnosis, budget);
    if (!runs_llama_cpp(diagnosis.runtime)) return;
    if (cache_type_is_enough(diagnosis, budget)) advise_cache_type(advice, diagnosis);
    advice.plain("quant", "a smaller quantization, or a smaller model, leaves more for the rest");
}

bool is_compute_buffer(const Load& load) {
    return load.failure &&
           (load.failure->stage == FailureStage::compute || load.failure->before_limit == FailureStage::compute ||
            load.failure->refusal.asker == Asker::graph);
}

/// A compute buffer above the limit of a single one grows with the batch, and without flash attention with batch times
/// context.
void advise_smaller_buffer(Advice& advice, const Diagnosis& diagnosis) {
    constexpr std::uint64_t usual = 512, least = 32; // llama.cpp's default; less is too slow to be of use
    const LogFigure* ubatch = diagnosis.figure("n_ubatch");
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* limit = diagnosis.figure("limit");
    const std::uint64_t before = ubatch == nullptr ? usual : ubatch->value;
    const auto fits = [&](std::uint64_t n) {
        return asked == nullptr || limit == nullptr || asked->value / before * n <= limit->value;
    };
    std::uint64_t n = before / 2;
    while (n > least && !fits(n)) n /= 2;
    const bool on = std::ranges::any_of(diagnosis.settings, [](const LogSetting& setting) {
        return setting.name == "flash_attn" && (setting.value == "1" || setting.value == "enabled");
    });
    if (n >= least)
        advice.option("ubatch", std::to_string(n), "smaller physical batches: the buffer shrinks with them");
    if (!on) advice.option("flash_attn", "on", "flash attention: no buffer that grows with batch times context");
}

/// macOS gives the GPU two thirds or three quarters of the memory; which memory, the log says by that.
void advise_wired_limit(Advice& advice, const Diagnosis& diagnosis) {
    const LogFigure* total = diagnosis.figure("total");
    for (const std::uint64_t size : {8U, 16U, 18U, 24U, 32U, 36U, 48U, 64U, 96U, 128U, 192U, 256U, 512U}) {
        const std::uint64_t memory = size * gib;
        if (total == nullptr || total->value / mib != metal_working_set(memory) / mib) continue;
        const std::uint64_t limit = memory - std::max(memory / 8, 2 * gib); // the rest is for macOS
        return advice.plain("wired", "let the GPU have more of the computer's memory, until the next start",
                            {"sudo", "sysctl", "iogpu.wired_limit_mb=" + std::to_string(limit / mib)});
    }
    advice.plain("wired", "let the GPU have more of the computer's memory: sysctl sets iogpu.wired_limit_mb; the log "
                          "does not show how much memory the Mac has");
}

void advise_generation(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    if (diagnosis.runtime == LogRuntime::pytorch) {
        advice.plain(
            "ctx",
            "shorter prompts, fewer new tokens or a smaller batch: the cache of transformers grows with the text",
            {"max_new_tokens=256"});
        advice.plain("quant", "weights in 4 bits", {"load_in_4bit=True"});
        return;
    }
    if (diagnosis.runtime == LogRuntime::mlx || diagnosis.device.starts_with("M")) {
        advise_context(advice, diagnosis, budget);
        if (diagnosis.runtime == LogRuntime::mlx && diagnosis.figure("n_ctx") == nullptr)
            advice.plain("quant", "a smaller quantization, or a smaller model");
        advise_wired_limit(advice, diagnosis);
        return;
    }
    if (diagnosis.runtime == LogRuntime::vllm || diagnosis.runtime == LogRuntime::sglang) {
        advice.option("utilization", smaller_share(diagnosis),
                      "a smaller share for weights and cache: the rest is for what grows");
        advice.option("parallel", "64", "fewer sequences at once");
        return;
    }
    advise_context(advice, diagnosis, budget);
    advice.option("ubatch", "256", "smaller physical batches");
}

void advise_settings(Advice& advice, const Diagnosis& diagnosis) {
    if (diagnosis.runtime == LogRuntime::lmstudio)
        return advice.plain(
            "setting", "LM Studio cannot estimate this model: relax the guardrails in its settings to load it anyway");
    advice.option("flash_attn", "on", "flash attention: a quantized V cache needs it");
    advice.option("cache_type", "f16", "or a V cache that is not quantized");
}

} // namespace

void add_plain_actions(Diagnosis& diagnosis, const Load& load) {
    Advice advice(diagnosis);
    const Budget budget = budget_of(load, diagnosis);
    if (is_fragmented(diagnosis))
        advice.plain("fragmentation", "segments that grow: PyTorch then puts its unused pieces together",
                     {std::string(load.number("hip") ? "PYTORCH_HIP_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF") +
                      "=expandable_segments:True"});
    if (diagnosis.oom && load.number("guardrail")) return advise_guardrail(advice, diagnosis, budget);
    switch (diagnosis.cause) {
    case FailureCause::kv_too_large: return advise_kv(advice, diagnosis, budget);
    case FailureCause::weights_too_large: return advise_weights(advice, diagnosis);
    case FailureCause::compute_too_large: return advise_compute(advice, diagnosis, load, budget);
    case FailureCause::generation_growth: return advise_generation(advice, diagnosis, budget);
    case FailureCause::other_process: return advise_other_process(advice, diagnosis, load);
    case FailureCause::setting: return advise_settings(advice, diagnosis);
    case FailureCause::host_memory:
        advice.plain("quant", "a smaller quantization, or a smaller model");
        advice.plain("other_process", "end other programs, or give the container (or pod) a higher memory limit");
        advise_context(advice, diagnosis, budget);
        return;
    case FailureCause::per_buffer_limit:
        if (is_compute_buffer(load)) advise_smaller_buffer(advice, diagnosis);
        advise_context(advice, diagnosis, budget);
        if (!is_compute_buffer(load)) advise_cache_type(advice, diagnosis);
        if (diagnosis.device.starts_with("Vulkan"))
            advice.plain("per_buffer", "a newer llama.cpp splits buffers, or use a CUDA or ROCm build");
        return;
    case FailureCause::mmproj:
        advice.option("mmproj", "", "the projector in RAM: images take longer, the GPU is spared");
        advice.plain("quant", "a smaller quantization of the model leaves room for the projector");
        return;
    case FailureCause::draft:
        advice.plain("draft", "run without the draft model, or with its layers in RAM", {"-ngld", "0"});
        advise_context(advice, diagnosis, budget);
        return;
    case FailureCause::not_memory:
    case FailureCause::none: return;
    }
}

} // namespace vramfit
