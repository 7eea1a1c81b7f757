#include "advisor.hpp"

#include "answer/max_ctx.hpp"
#include "answer/search.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// A context below this is no help to anybody who asked for more.
std::uint64_t useful_context(const Advisor& advisor) { return std::min(advisor.runtime().least_ctx, advisor.n_ctx()); }

bool is_useful(const Advisor& advisor, const Suggestion& suggestion) {
    if (advisor.request().strict && suggestion.verdict != Verdict::fit) return false;
    return suggestion.kind != "ctx" || *suggestion.request.n_ctx >= useful_context(advisor);
}

/// The largest file type with which `make(type)` fits. `other`: what the other change alone gives.
template <typename Make>
std::optional<Change> largest_quant(Advisor& advisor, const Trial& other, Make make) {
    for (const auto& [type, bytes] : smaller_file_types(advisor, Loss::little)) {
        if (!advisor.weights_may_help(other, bytes, Verdict::fit)) continue;
        Change change = make(type);
        const Trial trial = advisor.judge().attempt(change.request);
        if (trial.verdict == Verdict::fit && !advisor.leaves_device(trial)) return change;
    }
    return std::nullopt;
}

void quant_and_context(Advisor& advisor) {
    const std::uint64_t least = useful_context(advisor);
    if (least == advisor.n_ctx()) return;
    const Change shorter = context_change(advisor, advisor.request(), least);
    const auto smaller = [&](FileType type) { return quant_change(advisor, shorter.request, type); };
    const auto found = largest_quant(advisor, advisor.judge().attempt(shorter.request), smaller);
    if (!found) return;
    const Change quant = quant_change(advisor, advisor.request(), parse_file_type(*found->request.quant));
    const MaxContext max = max_context(advisor.judge(), quant.request);
    if (max.fit > 0) advisor.consider(both(quant, context_change(advisor, quant.request, max.fit)));
}

void quant_and_cache(Advisor& advisor) {
    const Settings& settings = advisor.base().deployment.settings;
    if (traits(settings.type_k).quantized || traits(settings.type_v).quantized) return;
    const auto make = [&](FileType type) {
        const Change quant = quant_change(advisor, advisor.request(), type);
        return both(quant, cache_type_change(advisor, quant.request, TensorType::q8_0));
    };
    const Trial cache =
        advisor.judge().attempt(cache_type_change(advisor, advisor.request(), TensorType::q8_0).request);
    if (cache.verdict == Verdict::refused || advisor.leaves_device(cache)) return;
    if (const auto change = largest_quant(advisor, cache, make)) advisor.consider(*change);
}

/// What mends a refusal, and a context that then fits.
void mended_and_context(Advisor& advisor) {
    for (const Change& mend : {flash_attention_change(advisor, advisor.request()),
                               cache_type_change(advisor, advisor.request(), TensorType::f16)}) {
        const MaxContext max = max_context(advisor.judge(), mend.request);
        const std::uint64_t n_ctx = max.fit > 0 ? max.fit : max.tight;
        if (n_ctx == 0 || n_ctx >= advisor.n_ctx()) continue;
        const Verdict verdict = advisor.consider(both(mend, context_change(advisor, mend.request, n_ctx)));
        if (advisor.helps(verdict)) return;
    }
}

/// Every layer goes to the CPU and back for its experts, as it is meant to: no sign of attention that runs there.
void keep_experts(Advisor& advisor, const Change& change) {
    advisor.keep(change, advisor.judge().attempt(change.request));
}

/// A cache in q8_0 may be one that the device has no kernel for.
bool runs_with(Advisor& advisor, TensorType type) {
    const Trial cache = advisor.judge().attempt(cache_type_change(advisor, advisor.request(), type).request);
    return cache.verdict != Verdict::refused && !advisor.leaves_device(cache);
}

/// The fewest experts on the CPU with which a cache in q8_0 fits.
void experts_and_cache(Advisor& advisor) {
    const Settings& settings = advisor.base().deployment.settings;
    if (traits(settings.type_k).quantized || traits(settings.type_v).quantized) return;
    if (!runs_with(advisor, TensorType::q8_0)) return;
    const auto make = [&](std::uint64_t n_layers) {
        const Change experts = fewer_experts(advisor, n_layers);
        return both(experts, cache_type_change(advisor, experts.request, TensorType::q8_0));
    };
    const auto spare = [&](std::uint64_t n) { return advisor.judge().attempt(make(n).request).spare(Verdict::fit); };
    const auto found = first_that_fits(advisor.request().n_cpu_moe + 1, advisor.model().n_layer(), spare);
    if (found) keep_experts(advisor, make(*found));
}

void experts_and_context(Advisor& advisor) {
    const Change experts = fewer_experts(advisor, advisor.model().n_layer());
    const MaxContext max = max_context(advisor.judge(), experts.request);
    if (max.fit >= useful_context(advisor) && max.fit < advisor.base().estimate.context.n_ctx)
        keep_experts(advisor, both(experts, context_change(advisor, experts.request, max.fit)));
}

/// Devices and the computer's memory together, where that is known.
bool holds_all(const Advisor& advisor, std::uint64_t tensor_bytes) {
    if (!advisor.base().ram) return true;
    double sum = static_cast<double>(advisor.base().ram->total);
    for (const DeviceAnswer& device : advisor.base().devices) sum += static_cast<double>(device.available);
    return static_cast<double>(tensor_bytes) <= sum;
}

/// The largest file type that fits with some experts on the CPU: the fewest that the devices need gone.
bool experts_and_quant(Advisor& advisor, Loss loss) {
    for (const auto& [type, bytes] : smaller_file_types(advisor, loss)) {
        if (!holds_all(advisor, bytes)) continue;
        const auto make = [&, file_type = type](std::uint64_t n_layers) {
            const Change experts = fewer_experts(advisor, n_layers);
            return both(experts, quant_change(advisor, experts.request, file_type));
        };
        const auto spare = [&](std::uint64_t n) {
            Trial trial = advisor.judge().attempt(make(n).request);
            trial.ram.reset();
            return trial.spare(Verdict::fit);
        };
        const auto found = first_that_fits(advisor.request().n_cpu_moe + 1, advisor.model().n_layer(), spare);
        if (!found) continue;
        const Change change = make(*found);
        const Trial trial = advisor.judge().attempt(change.request);
        if (trial.verdict != Verdict::fit) continue;
        advisor.keep(change, trial);
        return true;
    }
    return false;
}

} // namespace

void advise_expert_pairs(Advisor& advisor) {
    const bool some_left = advisor.request().n_cpu_moe < advisor.model().n_layer();
    if (!advisor.has_experts() || !some_left || advisor.base().verdict == Verdict::refused) return;
    if (std::ranges::count(advisor.kept(), Verdict::fit, &Suggestion::verdict) > 0) return;
    experts_and_cache(advisor);
    experts_and_context(advisor);
    if (std::ranges::count(advisor.kept(), Verdict::fit, &Suggestion::verdict) > 0) return;
    if (!experts_and_quant(advisor, Loss::little)) experts_and_quant(advisor, Loss::much);
}

void advise_pairs(Advisor& advisor) {
    if (std::ranges::any_of(advisor.kept(), [&](const Suggestion& s) { return is_useful(advisor, s); })) return;
    if (advisor.base().verdict == Verdict::refused) {
        mended_and_context(advisor);
        return;
    }
    quant_and_cache(advisor);
    quant_and_context(advisor);
}

} // namespace vramfit
