#include "advisor.hpp"

#include "answer/advice.hpp"
#include "answer/max_ctx.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

double bytes_an_element(TensorType type) { return static_cast<double>(traits(type).block_bytes) / traits(type).block; }

/// Does it make the caches smaller, and neither of them larger?
bool is_smaller(TensorType type, const Settings& settings) {
    const double k = bytes_an_element(settings.type_k);
    const double v = bytes_an_element(settings.type_v);
    const double t = bytes_an_element(type);
    return t <= std::min(k, v) && t < std::max(k, v);
}

std::string loss_of(TensorType type) {
    switch (type) {
    case TensorType::f16: return "";
    // llama-context.cpp refuses a quantized V cache without flash attention.
    case TensorType::q8_0: return " (close to lossless; needs flash attention)";
    default: return " (some loss of quality; needs flash attention)";
    }
}

} // namespace

Change cache_type_change(const Advisor& advisor, Request request, TensorType type) {
    const std::string name(traits(type).name);
    Change change;
    change.kind = "cache_type";
    change.summary = "the KV cache in " + name + loss_of(type);
    change.set = {{"cache_type_k", name}, {"cache_type_v", name}};
    change.write(advisor.runtime(), "cache_type_k", name);
    change.write(advisor.runtime(), "cache_type_v", name);
    request.type_k = request.type_v = type;
    if (traits(type).quantized && request.flash_attn == FlashAttention::off) {
        change.set.emplace_back("flash_attn", true);
        change.write(advisor.runtime(), "flash_attn", "on");
        request.flash_attn = FlashAttention::on;
    }
    change.request = std::move(request);
    return change;
}

Change flash_attention_change(const Advisor& advisor, Request request) {
    Change change;
    change.kind = "flash_attn";
    change.summary = "flash attention on (no loss)";
    change.set = {{"flash_attn", true}};
    change.write(advisor.runtime(), "flash_attn", "on");
    request.flash_attn = FlashAttention::on;
    change.request = std::move(request);
    return change;
}

void advise_cache_types(Advisor& advisor) {
    const DeviceAnswer& worst = advisor.worst();
    const bool off = advisor.request().flash_attn == FlashAttention::off;
    const std::uint64_t caches = worst.memory.kv_cache + advisor.base().estimate.host.kv_cache;
    if (!advisor.may_help(caches + (off ? worst.memory.compute : 0))) return;
    const Settings& settings = advisor.base().deployment.settings;
    const bool refused = advisor.base().verdict == Verdict::refused;
    for (const TensorType type : {TensorType::f16, TensorType::q8_0, TensorType::q4_0}) {
        // A refusal may be of the types themselves, which f16 mends.
        const bool mends = type == TensorType::f16 && refused && (settings.type_k != type || settings.type_v != type);
        if (!mends && (type == TensorType::f16 || !is_smaller(type, settings))) continue;
        const Verdict verdict = advisor.consider(cache_type_change(advisor, advisor.request(), type));
        if (verdict == Verdict::fit) return;
    }
}

/// Is it off because somebody, or the runtime itself, says so?
static bool lacks_flash_attention(const Advisor& advisor) {
    const FlashAttention said = advisor.request().flash_attn.value_or(advisor.runtime().flash_attn);
    return said == FlashAttention::off && !advisor.base().estimate.flash_attn;
}

bool advise_with_flash_attention(Advisor& advisor) {
    if (!lacks_flash_attention(advisor)) return false;
    const Change on = flash_attention_change(advisor, advisor.request());
    const Trial trial = advisor.judge().attempt(on.request);
    const bool smaller =
        advisor.base().verdict == Verdict::refused || trial.worst().required < advisor.worst().required;
    const bool enough = trial.verdict == Verdict::fit || trial.verdict == Verdict::refused;
    if (!on.possible || enough || !smaller || advisor.leaves_device(trial)) return false;
    const MaxContext largest = max_context(advisor.judge(), on.request);
    const std::size_t before = advisor.kept().size();
    for (Suggestion& found : advice(advisor.judge(), on.request, trial, largest))
        advisor.adopt(std::move(found), on, trial);
    return advisor.kept().size() > before;
}

void advise_windows(Advisor& advisor) {
    if (!advisor.request().swa_full || advisor.runtime().swa_full) return;
    if (!advisor.may_help(advisor.worst().memory.kv_cache + advisor.worst().memory.compute)) return;
    Change change;
    change.kind = "swa_full";
    change.summary = "without --swa-full: sliding-window layers cache their window alone";
    change.set = {{"swa_full", false}}; // what is asked for is left out: there is no flag for the opposite
    change.request = advisor.request();
    change.request.swa_full = false;
    advisor.consider(change);
}

void advise_flash_attention(Advisor& advisor) {
    const DeviceAnswer& worst = advisor.worst();
    if (!lacks_flash_attention(advisor)) return;
    if (advisor.may_help(worst.memory.kv_cache + worst.memory.compute))
        advisor.consider(flash_attention_change(advisor, advisor.request()));
}

} // namespace vramfit
