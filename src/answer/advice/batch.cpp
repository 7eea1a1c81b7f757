#include "advisor.hpp"

#include <algorithm>
#include <string>

namespace vramfit {
namespace {

/// Do slots cost memory, whatever the context: recurrent state, and the cells of windows?
bool slots_cost(const MemoryEstimate& estimate) {
    return std::ranges::any_of(estimate.caches, [&](const Cache& cache) {
        return !cache.layers.empty() && (cache.recurrent || cache.cells < estimate.context.n_ctx_seq);
    });
}

/// Fewer slots; where each has a cache of its own, the others keep theirs as it is.
Change slots_change(const Advisor& advisor, std::uint64_t n_slots) {
    const ContextPlan& context = advisor.base().estimate.context;
    const RuntimeProfile& runtime = advisor.runtime();
    Change change;
    change.kind = "parallel";
    change.summary = (n_slots == 1 ? "one slot" : std::to_string(n_slots) + " slots") + std::string(" instead of ") +
                     std::to_string(context.n_seqs);
    change.set = {{"parallel", n_slots}};
    change.write(runtime, "parallel", std::to_string(n_slots));
    change.request = advisor.request();
    change.request.parallel = n_slots;
    if (runtime.ctx_per_slot) {
        change.summary += ", each with " + std::to_string(context.n_ctx_seq) + " tokens as before";
    } else if (context.n_stream > 1) {
        const std::uint64_t n_ctx = n_slots * context.n_ctx_seq;
        change.summary += ", each with " + std::to_string(context.n_ctx_seq) + " tokens as before";
        change.set.emplace_back("n_ctx", n_ctx);
        change.write(runtime, "n_ctx", std::to_string(n_ctx));
        change.request.n_ctx = n_ctx;
    } else if (n_slots > 1) { // slots that are asked for do not share a cache unless that is said, too
        change.set.emplace_back("kv_unified", true);
        change.write(runtime, "kv_unified");
        change.request.kv_unified = true;
    }
    return change;
}

/// One cache for all slots, as large as one slot's was.
Change unified_change(const Advisor& advisor) {
    const ContextPlan& context = advisor.base().estimate.context;
    const RuntimeProfile& runtime = advisor.runtime();
    Change change;
    change.kind = "kv_unified";
    change.summary = "one cache of " + std::to_string(context.n_ctx_seq) + " tokens that all " +
                     std::to_string(context.n_seqs) + " slots share";
    change.set = {{"kv_unified", true}, {"n_ctx", context.n_ctx_seq}};
    change.write(runtime, "kv_unified");
    change.write(runtime, "n_ctx", std::to_string(context.n_ctx_seq));
    change.request = advisor.request();
    change.request.kv_unified = true;
    change.request.n_ctx = context.n_ctx_seq;
    return change;
}

Change ubatch_change(const Advisor& advisor, std::uint64_t n_ubatch) {
    Change change;
    change.kind = "ubatch";
    change.summary = "prompts in batches of " + std::to_string(n_ubatch) + " tokens (slower to read)";
    change.set = {{"n_ubatch", n_ubatch}};
    change.write(advisor.runtime(), "n_ubatch", std::to_string(n_ubatch));
    change.request = advisor.request();
    change.request.n_ubatch = n_ubatch;
    return change;
}

} // namespace

void advise_slots(Advisor& advisor) {
    const ContextPlan& context = advisor.base().estimate.context;
    const bool separate = context.n_stream > 1;
    if (context.n_seqs < 2 || (!separate && !slots_cost(advisor.base().estimate))) return;
    const DeviceMemory& memory = advisor.worst().memory;
    if (!advisor.may_help(memory.kv_cache + memory.recurrent_state + memory.compute)) return;
    if (!advisor.helps(advisor.judge().attempt(slots_change(advisor, 1).request).verdict)) return;
    for (std::uint64_t n = context.n_seqs / 2; n >= 1; n /= 2) {
        if (advisor.consider(slots_change(advisor, n)) == Verdict::fit) break;
    }
    if (separate) advisor.consider(unified_change(advisor));
}

void advise_ubatch(Advisor& advisor) {
    // A model that makes embeddings must read its text in one go.
    if (advisor.request().embeddings || !advisor.may_help(advisor.worst().memory.compute)) return;
    for (const std::uint64_t n_ubatch : {256U, 128U}) {
        if (n_ubatch >= advisor.base().estimate.context.n_ubatch) continue;
        if (advisor.consider(ubatch_change(advisor, n_ubatch)) == Verdict::fit) return;
    }
}

} // namespace vramfit
