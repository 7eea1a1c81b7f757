#include "advisor.hpp"

#include "answer/max_ctx.hpp"

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

} // namespace

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
