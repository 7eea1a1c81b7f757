#include "request_settings.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/architecture.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {
namespace {

TensorType cache_type(const RuntimeProfile& runtime, TensorType type) {
    if (std::ranges::find(runtime.cache_types, type) != runtime.cache_types.end()) return type;
    std::vector<std::string_view> known;
    for (const TensorType t : runtime.cache_types) known.push_back(traits(t).name);
    throw Error(runtime.name + " has no KV cache of type " + std::string(traits(type).name) + "; " + enumerated(known) +
                " would be right");
}

/// Both caches have the type of one setting, where the runtime has but one.
void check_one_type(const RuntimeProfile& runtime, TensorType k, TensorType v) {
    if (k == v || !runtime.can_set("cache_type_k") || !runtime.can_set("cache_type_v")) return;
    const std::string name(traits(k).name);
    if (runtime.written("cache_type_k", name).words != runtime.written("cache_type_v", name).words) return;
    throw Error(runtime.name + " has one setting for the types of both caches; give --cache-type");
}

bool asks_embeddings(const Request& request, const RuntimeProfile& runtime, const Model& model) {
    return request.embeddings || (runtime.embeds_itself && makes_embeddings(model));
}

void set_batch(Settings& s, const Request& request, const RuntimeProfile& runtime, const Model& model,
               const Outlook& outlook) {
    s.n_batch = request.n_batch.value_or(runtime.n_batch);
    s.n_ubatch = request.n_ubatch.value_or(runtime.n_ubatch);
    if (!runtime.one_batch) return;
    if (request.n_batch || request.n_ubatch) {
        s.n_batch = s.n_ubatch = request.n_ubatch ? *request.n_ubatch : *request.n_batch;
    } else if (runtime.auto_batch) {
        const std::uint64_t n_ctx = s.n_ctx == 0 ? model.n_ctx_train() : s.n_ctx;
        BatchQuestion question;
        question.n_ctx = n_ctx;
        question.predicted = predicted_memory(model, outlook.file_bytes, n_ctx);
        question.free = outlook.free;
        question.smallest = outlook.smallest;
        question.cuda_without_flash_attn = outlook.cuda && s.flash_attn == FlashAttention::off;
        question.embeddings = s.embeddings;
        s.n_batch = s.n_ubatch = automatic_batch(*runtime.auto_batch, question);
    }
}

} // namespace

bool makes_embeddings(const Model& model) {
    return model.hparams.get("attention.causal", 1) == 0 || model.hparams.get("pooling_type", 0) > 0;
}

bool has_single_slot(const Request& request, const RuntimeProfile& runtime, const Model& model) {
    if (runtime.embeds_itself && asks_embeddings(request, runtime, model)) return true;
    return std::ranges::find(runtime.single_slot, model.architecture->name) != runtime.single_slot.end();
}

std::uint64_t context_cells(std::uint64_t n_ctx, std::uint64_t n_slots, const RuntimeProfile& runtime,
                            const Model& model) {
    const std::uint64_t trained = model.n_ctx_train();
    const bool changes = runtime.ctx_per_slot || runtime.ctx_extra > 0;
    if (n_ctx == 0 && changes) n_ctx = trained;
    if (n_ctx == 0) return 0;
    if (runtime.caps_ctx && trained > 0) n_ctx = std::min(n_ctx, trained);
    if (runtime.ctx_per_slot) n_ctx = checked_mul(n_ctx, n_slots, "the context of all slots");
    return checked_add(n_ctx, runtime.ctx_extra, "the context");
}

Settings settings_of(const Request& request, const RuntimeProfile& runtime, const Model& model,
                     const Outlook& outlook) {
    Settings s;
    s.embeddings = asks_embeddings(request, runtime, model);
    s.n_seq_max = has_single_slot(request, runtime, model) ? 1 : request.parallel.value_or(runtime.slots);
    s.kv_unified = request.kv_unified.value_or(request.parallel ? runtime.unified_when_given : runtime.unified);
    s.n_ctx = context_cells(request.n_ctx.value_or(0), s.n_seq_max, runtime, model);
    s.type_k = cache_type(runtime, request.type_k.value_or(TensorType::f16));
    s.type_v = cache_type(runtime, request.type_v.value_or(TensorType::f16));
    check_one_type(runtime, s.type_k, s.type_v);
    s.flash_attn = request.flash_attn.value_or(runtime.flash_attn);
    s.swa_full = request.swa_full || runtime.swa_full;
    s.offload_kqv = request.kv_offload;
    s.op_offload = request.op_offload;
    s.mtp = request.mtp;
    const auto outputs = s.embeddings ? runtime.embedding_outputs : runtime.outputs;
    if (outputs == RuntimeProfile::Outputs::slots)
        s.n_outputs_max = s.n_seq_max * (1 + (request.mtp || request.draft ? runtime.draft_tokens : 0));
    set_batch(s, request, runtime, model, outlook);
    return s;
}

} // namespace vramfit
