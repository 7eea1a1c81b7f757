#include "engine_actions.hpp"

#include "log_text.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vramfit {
namespace {

bool is_vllm(const Diagnosis& diagnosis) { return diagnosis.runtime == LogRuntime::vllm; }

RuntimeProfile profile_of(const Diagnosis& diagnosis) { return find_runtime(engine_of(diagnosis)); }

/// "0.95"
std::string share_text(double share) {
    char text[16] = {};
    std::snprintf(text, sizeof text, "%.2f", share);
    return text;
}

/// Less of a card holds no model that people run these engines for.
constexpr double smallest_share = 0.05;

double rounded_up(double share) { return std::ceil(share * 100 - 1e-6) / 100; }
double rounded_down(double share) { return std::floor(share * 100 + 1e-6) / 100; }

/// The share that the engine was told to take, as printed; else its own default (vllm/config/cache.py), or near it
/// (SGLang's is worked out at the start: server_args.py).
double share_in_effect(const Diagnosis& diagnosis) {
    return said_share(diagnosis).value_or(is_vllm(diagnosis) ? 0.9 : 0.85);
}

/// Less than the most that the profile allows, which the estimator tries on the card: nothing is tried here.
double largest_share(const Diagnosis& diagnosis) { return is_vllm(diagnosis) ? 0.95 : 0.9; }

/// What is missing for the whole context; nothing where the log does not say.
std::optional<std::uint64_t> missing_of(const EngineCache& need) {
    if (need.below > 0) return need.below;
    if (!need.needed || !need.there || *need.needed <= *need.there) return std::nullopt;
    return *need.needed - *need.there;
}

/// The memory that shares are counted of: the card's in vLLM (worker/utils.py), what was free before the weights in
/// SGLang (model_runner.py).
std::optional<std::uint64_t> whole_of_shares(const Diagnosis& diagnosis) {
    return value_of(diagnosis, is_vllm(diagnosis) ? "total" : "free");
}

/// No card that the log can be of is larger, where it does not show its size: weights and cache fill the share but for
/// activations, and those are seldom more than a quarter of it.
std::uint64_t largest_card(const Diagnosis& diagnosis, const EngineCache& need, double share) {
    const auto weights = value_of(diagnosis, "weights");
    if (!weights) return 96 * gib; // as large as cards get that people have one of
    const double filled = static_cast<double>(*weights + need.there.value_or(0));
    return log_text::bytes_of(1.25 * filled / share, 1).value_or(UINT64_MAX);
}

/// A larger share, where it brings what is missing: all that is known otherwise is that it brings something.
void advise_larger_share(Advice& advice, const Diagnosis& diagnosis, const EngineCache& need) {
    const double most = largest_share(diagnosis), share = share_in_effect(diagnosis);
    if (share >= most) return;
    const std::string summary = "a larger share of the card for weights and cache";
    const auto missing = missing_of(need);
    const auto whole = whole_of_shares(diagnosis);
    if (!missing) {
        if (need.needed) return; // it was there
        return advice.option("utilization", share_text(most), summary);
    }
    if (whole && *whole > 0) {
        const double wanted = rounded_up(share + static_cast<double>(*missing) / static_cast<double>(*whole));
        if (wanted <= most + 1e-9) advice.option("utilization", share_text(wanted), summary);
        return;
    }
    const auto card = log_text::bytes_of(static_cast<double>(*missing) / (most - share), 1).value_or(UINT64_MAX);
    if (card > largest_card(diagnosis, need, share)) return;
    constexpr std::uint64_t smallest = 8 * gib; // that people run these engines on
    const std::string size = std::to_string((card + gib - 1) / gib);
    advice.option("utilization", share_text(most),
                  card <= smallest ? summary : summary + "; enough on a card of " + size + " GiB or more");
}

/// A share of the card that leaves room for what was missing beside it; nothing where none would be left.
void advise_smaller_share(Advice& advice, const Diagnosis& diagnosis, std::string_view why) {
    const auto asked = value_of(diagnosis, "requested"), free = value_of(diagnosis, "free");
    const auto total = value_of(diagnosis, "total");
    double missing = 0;
    if (asked && free && total && *asked > *free && *total > 0)
        missing = static_cast<double>(*asked - *free) / static_cast<double>(*total);
    constexpr double least = 0.05, rest = 0.01; // a step that is felt; what else grows
    const double share = rounded_down(share_in_effect(diagnosis) - std::max(least, missing + rest));
    if (share >= smallest_share) advice.option("utilization", share_text(share), std::string(why));
}

/// Tokens that the cache's memory holds: the runtime's own figure, or by the rule of three, in whole blocks.
std::uint64_t tokens_that_fit(const Diagnosis& diagnosis, const EngineCache& need) {
    const std::uint64_t block = profile_of(diagnosis).serving.value().cache.block;
    if (const auto most = value_of(diagnosis, "max_ctx")) return *most;
    const auto n_ctx = value_of(diagnosis, "n_ctx");
    if (!n_ctx || !need.needed || !need.there || *need.needed <= *need.there) return 0;
    const double share = static_cast<double>(*need.there) / static_cast<double>(*need.needed);
    return static_cast<std::uint64_t>(share * static_cast<double>(*n_ctx)) / block * block;
}

/// A cache of 8 bits holds twice the tokens: all that are wanted, or twice those that fit.
void advise_small_cache(Advice& advice, const Diagnosis& diagnosis, const EngineCache& need, std::uint64_t fits) {
    const auto n_ctx = value_of(diagnosis, "n_ctx");
    const std::string_view type = setting_of(diagnosis, "cache_type_k");
    if (!type.empty() && type != "auto") return advise_cache_type(advice, diagnosis);
    const bool enough = !need.needed || !need.there || *need.needed / 2 <= *need.there;
    if (enough || fits == 0 || !n_ctx || 2 * fits >= *n_ctx) return advise_cache_type(advice, diagnosis);
    auto flags = flags_of(diagnosis, "cache_type", "q8_0");
    const auto context = context_flags(diagnosis, 2 * fits);
    flags.insert(flags.end(), context.begin(), context.end());
    advice.plain("cache_type", "a cache of 8 bits holds twice the tokens", std::move(flags));
}

void advise_smaller_weights(Advice& advice) {
    advice.plain("quant", "a quantized checkpoint (AWQ, GPTQ, FP8) or a smaller model");
}

/// What a share leaves for the cache; nothing where the log shows too little for that. Below 0: it leaves none.
std::optional<double> cache_of_share(const Diagnosis& diagnosis, const EngineCache& need, double share) {
    const auto whole = whole_of_shares(diagnosis);
    if (!whole) return std::nullopt;
    const auto all = static_cast<double>(*whole);
    if (const auto after = value_of(diagnosis, "free_after_weights")) // SGLang: all but the rest is the cache's
        return static_cast<double>(*after) - all * (1 - share);
    if (need.below == 0) return std::nullopt;
    return all * (share - share_in_effect(diagnosis)) - static_cast<double>(need.below);
}

/// The largest share, where that leaves a cache worth the name.
void advise_share_for_cache(Advice& advice, const Diagnosis& diagnosis, const EngineCache& need) {
    constexpr double least = 256.0 * mib; // 2048 tokens of an 8B model
    const double most = largest_share(diagnosis);
    const auto cache = cache_of_share(diagnosis, need, most);
    if (!cache) return advise_larger_share(advice, diagnosis, need);
    if (*cache < least || share_in_effect(diagnosis) >= most) return;
    advice.option("utilization", share_text(most),
                  "a larger share of the card: it leaves " + format_mib(static_cast<std::uint64_t>(*cache)) +
                      " for the cache");
}

void advise_smaller_steps(Advice& advice, const Diagnosis& diagnosis) {
    advice.smaller("ubatch", 2048, value_of(diagnosis, "n_batch"), "smaller steps of a prompt: less activation memory");
}

/// Weights and activations alone fill the share: no smaller cache makes up for that.
void advise_room_for_cache(Advice& advice, const Diagnosis& diagnosis, const EngineCache& need) {
    advise_share_for_cache(advice, diagnosis, need);
    advise_smaller_weights(advice);
    advice.more_gpus("more GPUs share the weights");
    if (is_vllm(diagnosis)) advise_smaller_steps(advice, diagnosis);
}

/// "--cuda-graph-max-bs": half of what the log shows, or what SGLang's own message names.
void advise_smaller_graphs(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    if (is_vllm(diagnosis))
        return advice.option("graphs", "", "no graphs at all: their memory is spared, each token takes longer");
    const auto batch = load.number("graph_batch");
    advice.smaller("graphs", batch && batch->value <= 32 ? batch->value / 2 : 16,
                   batch ? std::optional(batch->value) : std::nullopt,
                   "graphs of smaller batches: fewer are captured at the start");
}

/// A quarter of the sequences that the log shows, else of what vLLM takes by itself.
void advise_fewer_sequences(Advice& advice, const Diagnosis& diagnosis) {
    const std::uint64_t sequences = value_of(diagnosis, "max_num_seqs").value_or(profile_of(diagnosis).slots);
    advice.option("parallel", std::to_string(std::max<std::uint64_t>(sequences / 4, 1)),
                  "fewer sequences at once: the dummy run at start is smaller");
}

} // namespace

void advise_engine_cache(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    const EngineCache need = engine_cache_of(diagnosis);
    if (need.below > 0 || load.number("no_cache")) return advise_room_for_cache(advice, diagnosis, need);
    const std::uint64_t fits = tokens_that_fit(diagnosis, need);
    if (fits > 0)
        advice.option("ctx", std::to_string(fits),
                      value_of(diagnosis, "max_ctx") ? "the runtime's own figure for the longest context that fits"
                                                     : "what the cache's memory holds, by the log's own figures");
    advise_larger_share(advice, diagnosis, need);
    const auto n_ctx = value_of(diagnosis, "n_ctx");
    if (fits == 0 && n_ctx) advice.option("ctx", std::to_string(rounded_context(*n_ctx / 2)), "a shorter context");
    advise_small_cache(advice, diagnosis, need, fits);
    advise_smaller_weights(advice);
}

void advise_engine_start(Advice& advice, const Diagnosis& diagnosis, const Load& load) {
    const bool graphs = load.number("graph_capture").has_value();
    constexpr std::string_view why = "less for weights and cache, more for what runs";
    if (is_vllm(diagnosis)) {
        if (graphs) advise_smaller_share(advice, diagnosis, why);
        if (graphs) advise_smaller_graphs(advice, diagnosis, load);
        advise_fewer_sequences(advice, diagnosis);
        if (load.number("sampler")) advise_smaller_share(advice, diagnosis, why);
        return advise_smaller_steps(advice, diagnosis);
    }
    if (graphs)
        advise_smaller_graphs(advice, diagnosis, load);
    else
        advise_smaller_steps(advice, diagnosis);
    advise_smaller_share(advice, diagnosis, why);
}

void advise_engine_growth(Advice& advice, const Diagnosis& diagnosis) {
    advise_smaller_share(advice, diagnosis, "a smaller share for weights and cache: the rest is for what grows");
    advice.smaller("parallel", 64, value_of(diagnosis, "max_num_seqs"), "fewer sequences at once");
}

void advise_free_share(Advice& advice, const Diagnosis& diagnosis) {
    const auto free = value_of(diagnosis, "free"), total = value_of(diagnosis, "total");
    if (!is_vllm(diagnosis) || !free || !total || *total == 0) return;
    const double share = rounded_down(static_cast<double>(*free) / static_cast<double>(*total));
    if (share < smallest_share || share >= share_in_effect(diagnosis)) return;
    advice.option("utilization", share_text(share), "a share that is free; it counts the whole card, others included");
}

} // namespace vramfit
