#include "llama_actions.hpp"

#include "log_text.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t compute_room = 512 * mib; // most compute buffers take less
constexpr std::uint64_t least_ubatch = 32;        // every prompt would crawl

/// How much of it was not there; 0 where the log does not show that.
std::uint64_t missing_of(const Diagnosis& diagnosis, const Budget& budget) {
    const auto asked = value_of(diagnosis, "requested");
    if (asked && !budget.left && budget.most && budget.used > *budget.most) // compute buffers shrink with the cache
        return budget.used - *budget.most + driver_share + std::min(*asked, compute_room);
    if (!asked || !budget.left) return 0;
    const std::uint64_t spilled =
        budget.free && !budget.free_is_left ? budget.used - std::min(budget.used, budget.free->value) : 0;
    return *asked + spilled - std::min(*asked, *budget.left);
}

/// Whether a smaller type, which saves nearly half of the cache, leaves what the compute buffer misses.
bool cache_type_is_enough(const Diagnosis& diagnosis, const Budget& budget) {
    return missing_of(diagnosis, budget) < budget.cache / 5 * 2;
}

/// The context whose cache is smaller by `missing`, and some room; 0 where even none would do.
std::uint64_t context_less(std::uint64_t missing, std::uint64_t n_ctx, std::uint64_t cache) {
    constexpr std::uint64_t room = 128 * mib;
    const double share = static_cast<double>(missing + room) / static_cast<double>(cache);
    return share < 1 ? rounded_context(static_cast<std::uint64_t>((1 - share) * static_cast<double>(n_ctx))) : 0;
}

/// A context whose share of the logged request is what was left, with room for the compute buffer.
std::uint64_t context_that_fits(const Diagnosis& diagnosis, const Budget& budget) {
    if (const auto most = value_of(diagnosis, "max_ctx")) return *most;
    const auto n_ctx = value_of(diagnosis, "n_ctx"), asked = value_of(diagnosis, "requested");
    if (!n_ctx) return 0;
    if (diagnosis.stage == FailureStage::kv_cache && asked && *asked > 0 && budget.left) {
        const std::uint64_t left = *budget.left - std::min(*budget.left, compute_room);
        const double share = static_cast<double>(left) / static_cast<double>(*asked);
        return share < 1 ? rounded_context(static_cast<std::uint64_t>(share * static_cast<double>(*n_ctx))) : 0;
    }
    const std::uint64_t missing = missing_of(diagnosis, budget);
    if (diagnosis.stage == FailureStage::compute && missing > 0 && budget.cache > 0)
        return context_less(missing, *n_ctx, budget.cache);
    if (diagnosis.stage == FailureStage::kv_cache && !asked && budget.left)
        // Nothing is known of the model: 128 KiB a token is what many of 7 to 9 billion parameters take.
        return rounded_context(std::min(*budget.left / (128 * kib) / 2, *n_ctx / 2));
    return rounded_context(*n_ctx / 2);
}

/// Fewer layers by what was free, where the log shows that; else half of them, which a person can count on from.
void advise_layers(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    auto layers = value_of(diagnosis, "gpu_layers_of");
    if (const auto blocks = load.number("n_layer"); !layers && blocks) layers = blocks->value;
    if (!layers || *layers < 2)
        return advice.option("gpu_layers", "N", "N layers on the GPU, fewer than the model has; the rest in RAM");
    auto all = value_of(diagnosis, "requested"), room = value_of(diagnosis, "free");
    if (!all) all = value_of(diagnosis, "required");
    if (!room) room = value_of(diagnosis, "total");
    std::string summary = "fewer layers on the GPU, the rest in RAM (slower)";
    if (all && room && *all > *room) {
        constexpr double share_of_weights = 0.8; // the rest is for cache and compute buffer
        const double share = share_of_weights * static_cast<double>(*room) / static_cast<double>(*all);
        const auto fitting = static_cast<std::uint64_t>(share * static_cast<double>(*layers));
        return advice.option("gpu_layers", std::to_string(fitting), std::move(summary));
    }
    if (all) summary += ": each takes about " + format_mib(*all / *layers);
    advice.option("gpu_layers", std::to_string(*layers / 2), std::move(summary));
}

/// Where some layers are in RAM already, as many more as what is missing takes.
void advise_fewer_layers(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    const auto layers = value_of(diagnosis, "gpu_layers"), all = value_of(diagnosis, "gpu_layers_of");
    const std::uint64_t missing = missing_of(diagnosis, budget);
    if (!layers || !all || *layers == 0 || *layers >= *all || missing == 0 || budget.n_devices > 1) return;
    const std::uint64_t each = (budget.used - std::min(budget.used, budget.cache)) / *layers;
    if (each == 0) return;
    const std::uint64_t fewer = (missing + each - 1) / each;
    if (fewer >= *layers) return;
    advice.option("gpu_layers", std::to_string(*layers - fewer),
                  "fewer layers on the GPU: each takes about " + format_mib(each));
}

/// Smaller physical batches, as far down as the buffer's share of them needs it; nothing where none is small enough.
void advise_ubatch(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    const auto asked = value_of(diagnosis, "requested");
    const std::uint64_t usual = usual_ubatch();
    const std::uint64_t ubatch = std::max<std::uint64_t>(value_of(diagnosis, "n_ubatch").value_or(usual), 1);
    for (std::uint64_t smaller = ubatch > usual ? usual : 256; smaller >= least_ubatch; smaller /= 2) {
        if (smaller >= ubatch) continue;
        const double share = static_cast<double>(smaller) / static_cast<double>(ubatch);
        const bool too_large =
            asked && budget.left && share * static_cast<double>(*asked) > static_cast<double>(*budget.left);
        if (too_large) continue;
        return advice.option("ubatch", std::to_string(smaller),
                             "smaller physical batches: the compute buffer shrinks with them");
    }
}

/// A compute buffer above the limit of a single one grows with the batch, and without flash attention with batch times
/// context.
void advise_smaller_buffer(Advice& advice, const Diagnosis& diagnosis) {
    const auto asked = value_of(diagnosis, "requested"), limit = value_of(diagnosis, "limit");
    const std::uint64_t before = value_of(diagnosis, "n_ubatch").value_or(usual_ubatch());
    const auto fits = [&](std::uint64_t n) { return !asked || !limit || *asked / before * n <= *limit; };
    std::uint64_t n = before / 2;
    while (n > least_ubatch && !fits(n)) n /= 2;
    const std::string_view flash = setting_of(diagnosis, "flash_attn");
    if (n >= least_ubatch)
        advice.option("ubatch", std::to_string(n), "smaller physical batches: the buffer shrinks with them");
    if (flash != "1" && flash != "enabled")
        advice.option("flash_attn", "on", "flash attention: no buffer that grows with batch times context");
}

/// Newer builds put weights into buffers of 1 GiB, older ones into the largest that they think the driver allows
/// (ggml-vulkan.cpp).
void advise_smaller_pieces(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    if (!diagnosis.device.starts_with("Vulkan")) return advise_layers(advice, diagnosis, load);
    advice.plain("per_buffer",
                 "llama.cpp then puts the weights into several buffers of at most 1 GiB; newer builds do "
                 "so by themselves",
                 {"GGML_VK_FORCE_MAX_ALLOCATION_SIZE=1073741824"});
    advise_layers(advice, diagnosis, load);
    advice.plain("quant", "a smaller quantization of the same model: its buffers are smaller");
}

} // namespace

void advise_context(Advice& advice, const Diagnosis& diagnosis, const Budget& budget) {
    if (!diagnosis.figure("n_ctx") && !diagnosis.figure("max_ctx"))
        return advice.option("ctx", "8192", "a shorter context: this, or half of yours where that is less");
    const bool known = diagnosis.figure("max_ctx") != nullptr;
    const bool counted = diagnosis.stage == FailureStage::kv_cache && diagnosis.figure("requested") && budget.left;
    advice.context(context_that_fits(diagnosis, budget),
                   known     ? "the runtime's own figure for the longest context that fits"
                   : counted ? "a shorter context: the cache's share of what was left"
                             : "a shorter context");
}

void advise_llama_weights(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    advice.plain("quant", "a smaller quantization of the same model");
    const bool fit = !flags_of(diagnosis, "fit", "").empty();
    const auto asked = value_of(diagnosis, "requested"), free = value_of(diagnosis, "free");
    const bool counted = asked && free && *asked > *free && diagnosis.figure("gpu_layers_of");
    if ((diagnosis.stage == FailureStage::weights && counted) || !fit)
        advise_layers(advice, diagnosis, load);
    else
        advice.option("fit", "", "llama.cpp then places as many layers as fit, the rest in RAM");
    if (load.devices.size() < 2) advice.option("split", "2", "two GPUs share the weights");
}

void advise_llama_cache(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    advise_context(advice, diagnosis, budget);
    advise_fewer_layers(advice, diagnosis, budget);
    // A quantized V cache needs flash attention, which builds print a setting of since they have it (April 2024).
    const bool too_old = load.number("prints_of_2024") && setting_of(diagnosis, "flash_attn").empty();
    if (!too_old && (diagnosis.stage != FailureStage::compute || cache_type_is_enough(diagnosis, budget)))
        advise_cache_type(advice, diagnosis);
    if (diagnosis.runtime == LogRuntime::ollama && value_of(diagnosis, "n_parallel").value_or(1) > 1)
        advice.option("parallel", "1", "one request at a time: each has a context of its own");
    advice.plain("quant", "a smaller quantization, or a smaller model, leaves more for the cache");
}

void advise_llama_compute(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    const std::string_view flash = setting_of(diagnosis, "flash_attn");
    if (const auto copies = load.number("n_copies"); copies && copies->value > 1)
        advice.plain("copies", "a build without copies for pipeline parallelism between the GPUs",
                     {"-DGGML_SCHED_MAX_COPIES=1"});
    if (flash == "0" || flash == "disabled")
        advice.option("flash_attn", "on",
                      "flash attention: no buffer that grows with the square of the batch and context");
    advise_ubatch(advice, diagnosis, budget);
    advise_fewer_layers(advice, diagnosis, budget);
    advise_context(advice, diagnosis, budget);
    if (cache_type_is_enough(diagnosis, budget)) advise_cache_type(advice, diagnosis);
    advice.plain("quant", "a smaller quantization, or a smaller model, leaves more for the rest");
}

LimitedBuffer limited_buffer(const Load& load) {
    if (!load.failure) return LimitedBuffer::unknown;
    const FailureStage before = load.failure->before_limit, stage = load.failure->stage;
    const Asker asker = load.failure->refusal.asker;
    if (asker == Asker::graph || stage == FailureStage::compute || before == FailureStage::compute)
        return LimitedBuffer::compute;
    if (stage == FailureStage::kv_cache || before == FailureStage::kv_cache) return LimitedBuffer::kv_cache;
    return stage == FailureStage::weights || before == FailureStage::weights ? LimitedBuffer::weights
                                                                             : LimitedBuffer::unknown;
}

void advise_buffer_limit(Advice& advice, const Diagnosis& diagnosis, const Load& load, const Budget& budget) {
    const LimitedBuffer buffer = limited_buffer(load);
    if (buffer == LimitedBuffer::weights) return advise_smaller_pieces(advice, diagnosis, load);
    if (buffer == LimitedBuffer::compute) advise_smaller_buffer(advice, diagnosis);
    advise_context(advice, diagnosis, budget);
    if (buffer != LimitedBuffer::compute) advise_cache_type(advice, diagnosis);
    if (diagnosis.device.starts_with("Vulkan"))
        advice.plain("per_buffer", "a newer llama.cpp splits buffers, or use a CUDA or ROCm build");
}

} // namespace vramfit
