#include "plain_actions.hpp"

#include "engine_actions.hpp"
#include "llama_actions.hpp"
#include "log_text.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>

namespace vramfit {
namespace {

bool is_engine(const Diagnosis& diagnosis) {
    return diagnosis.runtime == LogRuntime::vllm || diagnosis.runtime == LogRuntime::sglang;
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

void advise_weights(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    if (runs_llama_cpp(diagnosis)) return advise_llama_weights(advice, diagnosis, load);
    if (diagnosis.runtime == LogRuntime::tensorrt_llm)
        advice.plain("parallel", "an engine built for fewer requests and tokens at once", {"--max_batch_size", "8"});
    const bool transformers = diagnosis.runtime == LogRuntime::pytorch && diagnosis.device != "MPS";
    if (transformers) advice.plain("quant", "weights in 4 bits: a quarter of those in 16 bits", {"load_in_4bit=True"});
    advice.plain(transformers ? "model" : "quant", "a quantized checkpoint (AWQ, GPTQ, FP8) or a smaller model");
    advice.more_gpus("more GPUs share the weights");
}

void advise_cache(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    if (is_engine(diagnosis)) return advise_engine_cache(advice, diagnosis, load);
    if (diagnosis.runtime != LogRuntime::pytorch) return advise_llama_cache(advice, diagnosis, load, budget);
    // One program of many: each has names of its own.
    advice.plain("ctx", "in the program's settings, a shorter context (max_seq_len) or a cache of fewer bits");
    advice.plain("quant", "a smaller quantization, or a smaller model, leaves more for the cache");
}

void advise_compute(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    if (is_engine(diagnosis)) advise_engine_start(advice, diagnosis, load);
    if (runs_llama_cpp(diagnosis)) return advise_llama_compute(advice, diagnosis, load, budget);
    advise_context(advice, diagnosis, budget);
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

/// What was asked for was free when it was: then neither another process nor another card is the answer.
void advise_limits(Advice& advice) {
    advice.plain("limit",
                 "look for a limit of the system or the program: on Windows a larger page file, in a container its "
                 "memory limit, in PyTorch set_per_process_memory_fraction");
    advice.plain("other_process",
                 "start the program anew, and look with nvidia-smi (rocm-smi) at what the card holds then");
}

void advise_other_process(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    const auto asked = value_of(diagnosis, "requested");
    if (budget.free_is_left && asked && *asked <= *budget.left) return advise_limits(advice);
    const LogFigure* others = diagnosis.figure("others");
    advice.plain("other_process",
                 others != nullptr
                     ? "free the " + format_gib(others->value) +
                           " that others hold there: see nvidia-smi (rocm-smi) for their processes"
                     : "end what else holds memory of the card: see nvidia-smi (rocm-smi) for its processes");
    advise_free_share(advice, diagnosis);
    if (const std::string variable = other_card(diagnosis, load); !variable.empty())
        advice.plain("gpu", "or use another card", {variable});
    advice.plain("quant", runs_llama_cpp(diagnosis)
                              ? "or a smaller quantization or context: what they leave must be enough"
                              : "or a quantized checkpoint (AWQ, GPTQ, FP8): what they leave must be enough");
}

/// The memory of the Mac whose GPU may use `limit`: macOS gives it two thirds or three quarters, and newer releases
/// more (data/gpus.json). Nothing where the limit is none of a known Mac, or that of several.
std::optional<std::uint64_t> memory_of_mac(std::uint64_t limit) {
    std::optional<std::uint64_t> memory;
    for (const GpuInfo& gpu : all_gpus()) {
        if (gpu.vendor != "apple" || !gpu.nominal) continue;
        const auto agrees = [&](const std::optional<std::uint64_t>& size) {
            return size && *size / mib == limit / mib;
        };
        const bool fits = agrees(gpu.metal_working_set) || agrees(gpu.metal_working_set_older) ||
                          agrees(metal_working_set(*gpu.nominal));
        if (!fits) continue;
        if (memory && *memory != *gpu.nominal) return std::nullopt;
        memory = gpu.nominal;
    }
    return memory;
}

void advise_wired_limit(Advice& advice, const Diagnosis& diagnosis) {
    const auto total = value_of(diagnosis, "total");
    if (const auto memory = total ? memory_of_mac(*total) : std::nullopt) {
        const std::uint64_t limit = *memory - std::max(*memory / 8, 2 * gib); // the rest is for macOS
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
        if (diagnosis.device == "MPS")
            return advice.plain("wired", "PyTorch may then take more than its limit: macOS swaps, and can freeze",
                                {"PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"});
        return advice.plain("quant", "weights in 4 bits", {"load_in_4bit=True"});
    }
    if (diagnosis.runtime == LogRuntime::mlx || diagnosis.device.starts_with("M")) {
        advise_context(advice, diagnosis, budget);
        if (diagnosis.runtime == LogRuntime::mlx && diagnosis.figure("n_ctx") == nullptr)
            advice.plain("quant", "a smaller quantization, or a smaller model");
        advise_wired_limit(advice, diagnosis);
        return;
    }
    if (is_engine(diagnosis)) return advise_engine_growth(advice, diagnosis);
    advise_context(advice, diagnosis, budget);
    advice.smaller("ubatch", 256, value_of(diagnosis, "n_ubatch"), "smaller physical batches");
}

/// Names as transformers' TrainingArguments, PEFT and Unsloth have them.
void advise_training(Advice& advice) {
    advice.plain("ubatch",
                 "one example at a time, and as many steps gathered as make up the batch: memory grows with it",
                 {"per_device_train_batch_size=1", "gradient_accumulation_steps=8"});
    advice.plain("ctx", "shorter examples (max_seq_length, in newer versions max_length): half as long take half");
}

/// Programs that share nothing with the runtimes but a library.
void advise_program(Advice& advice, const Diagnosis& diagnosis, const ProgramInfo& program, const Budget& budget) {
    if (!program.language_models)
        return advice.plain("quant", "a smaller model, or a more quantized one: see what the program itself offers");
    if (diagnosis.stage == FailureStage::compute) {
        const std::uint64_t steps = value_of(diagnosis, "n_batch").value_or(4096);
        advice.option("ubatch", std::to_string(steps / 2), "smaller steps of a prompt: they need less at once");
    }
    advise_context(advice, diagnosis, budget);
    advise_cache_type(advice, diagnosis);
    if (program.words.empty()) advice.plain("ctx", "in the program's own settings, a shorter context");
    advice.plain("quant", "a smaller quantization, or a smaller model");
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
                     {std::string(load.number("hip")   ? "PYTORCH_HIP_ALLOC_CONF"
                                  : load.number("xpu") ? "PYTORCH_ALLOC_CONF"
                                                       : "PYTORCH_CUDA_ALLOC_CONF") +
                      "=expandable_segments:True"});
    if (diagnosis.training) return advise_training(advice);
    const ProgramInfo* const program = program_of(diagnosis);
    const bool elsewhere =
        diagnosis.cause == FailureCause::other_process || diagnosis.cause == FailureCause::host_memory;
    if (diagnosis.oom && program != nullptr && !program->llama_cpp && !elsewhere)
        return advise_program(advice, diagnosis, *program, budget);
    if (diagnosis.oom && load.number("guardrail")) return advise_guardrail(advice, diagnosis, budget);
    switch (diagnosis.cause) {
    case FailureCause::kv_too_large: return advise_cache(advice, diagnosis, load, budget);
    case FailureCause::weights_too_large: return advise_weights(advice, diagnosis, load);
    case FailureCause::compute_too_large: return advise_compute(advice, diagnosis, load, budget);
    case FailureCause::generation_growth: return advise_generation(advice, diagnosis, budget);
    case FailureCause::other_process: return advise_other_process(advice, diagnosis, load, budget);
    case FailureCause::setting: return advise_settings(advice, diagnosis);
    case FailureCause::host_memory:
        if (diagnosis.stage == FailureStage::kv_cache) return advise_llama_cache(advice, diagnosis, load, budget);
        advice.plain("quant", "a smaller quantization, or a smaller model");
        advice.plain("other_process", "end other programs, or give the container (or pod) a higher memory limit");
        advise_context(advice, diagnosis, budget);
        return;
    case FailureCause::per_buffer_limit: return advise_buffer_limit(advice, diagnosis, load, budget);
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
