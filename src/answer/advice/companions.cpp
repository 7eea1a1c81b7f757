#include "advisor.hpp"

namespace vramfit {
namespace {

Change change_of(const Advisor& advisor, std::string kind, std::string summary) {
    Change change;
    change.kind = std::move(kind);
    change.summary = std::move(summary);
    change.request = advisor.request();
    return change;
}

void advise_projector(Advisor& advisor) {
    const Request& request = advisor.request();
    if (!request.projector || !request.projector_offload) return;
    if (!advisor.may_help(advisor.worst().memory.projector)) return;
    Change change = change_of(advisor, "mmproj", "the projector on the CPU (images take longer)");
    change.set = {{"mmproj_offload", false}};
    change.write(advisor.runtime(), "no_mmproj");
    change.request.projector_offload = false;
    advisor.consider(change);
}

/// The draft model's cache in q8_0: what is drafted is checked anyway.
void advise_draft_cache(Advisor& advisor) {
    const DraftRequest& draft = *advisor.request().draft;
    if (draft.type_k.value_or(TensorType::f16) != TensorType::f16 || draft.type_v) return;
    if (advisor.request().flash_attn == FlashAttention::off) return;
    Change change = change_of(advisor, "draft", "the draft model's cache in q8_0");
    const std::string type(traits(TensorType::q8_0).name);
    change.set = {{"cache_type_k_draft", type}, {"cache_type_v_draft", type}};
    change.write(advisor.runtime(), "cache_type_k_draft", type);
    change.write(advisor.runtime(), "cache_type_v_draft", type);
    change.request.draft->type_k = change.request.draft->type_v = TensorType::q8_0;
    advisor.consider(change);
}

void advise_draft(Advisor& advisor) {
    const Request& request = advisor.request();
    if (!request.draft && !request.mtp) return;
    if (!advisor.may_help(advisor.worst().memory.draft + advisor.worst().memory.recurrent_state)) return;
    if (request.draft) advise_draft_cache(advisor);
    Change without =
        change_of(advisor, "draft",
                  request.draft ? "without the draft model (slower)" : "without the MTP block's drafts (slower)");
    without.set = {{"draft", false}};
    without.request.draft.reset();
    without.request.mtp = false;
    advisor.consider(without);
}

} // namespace

void advise_companions(Advisor& advisor) {
    advise_projector(advisor);
    advise_draft(advisor);
}

} // namespace vramfit
