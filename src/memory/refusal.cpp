#include "refusal.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {
namespace {

/// A latent cache (MLA, DeepSeek V4) holds no V of its own, so its two types cannot differ.
std::optional<std::string> differing_types(const Settings& settings, const std::vector<Cache>& caches) {
    const bool latent = std::ranges::any_of(caches, [](const Cache& cache) {
        return !cache.recurrent && !cache.layers.empty() && cache.layers.front().v_width == 0;
    });
    if (!latent || settings.type_k == settings.type_v) return std::nullopt;
    return "model does not support different K (" + std::string(traits(settings.type_k).name) + ") and V (" +
           std::string(traits(settings.type_v).name) + ") cache types";
}

std::optional<std::string> indivisible_head(Evaluator& e, const std::vector<Cache>& caches, TensorType type,
                                            std::string_view symbol, char part) {
    if (!traits(type).quantized) return std::nullopt;
    for (const Cache& cache : caches) {
        if (cache.recurrent) continue;
        for (const CacheLayer& layer : cache.layers) {
            if (layer.v_width == 0) continue;
            e.enter_layer(layer.il);
            const auto head = static_cast<std::uint64_t>(e.value_or(symbol, 0));
            if (head % traits(type).block != 0)
                return std::string(1, part) + " cache type " + std::string(traits(type).name) + " with block size " +
                       std::to_string(traits(type).block) + " does not divide n_embd_head_" +
                       (part == 'K' ? "k=" : "v=") + std::to_string(head);
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> settings_refusal(Evaluator& e, const Settings& settings, const std::vector<Cache>& caches) {
    if (auto refusal = differing_types(settings, caches)) return refusal;
    if (settings.flash_attn == FlashAttention::off) { // the head sizes are then not looked at
        if (traits(settings.type_v).quantized) return "quantized V cache requires flash_attn to be enabled";
    } else {
        if (auto refusal = indivisible_head(e, caches, settings.type_k, "head_k", 'K')) return refusal;
        if (auto refusal = indivisible_head(e, caches, settings.type_v, "head_v", 'V')) return refusal;
    }
    for (const Refusal& rule : e.architecture().refusals) {
        if (e.eval(rule.condition) != 0) return rule.message;
    }
    return std::nullopt;
}

std::optional<std::string> graph_refusal(Evaluator& e, std::uint64_t n_tensors_in_graph) {
    // The primes just above the powers of two (ggml.c).
    static constexpr std::uint64_t hash_sizes[] = {1031, 2053, 4099, 8209, 16411, 32771, 65537, 131101, 262147};
    const std::uint64_t n_tensors = e.model().tensors.size();
    const std::uint64_t max_nodes =
        e.value_or("wide_graph", 0) != 0
            ? std::max(40 * static_cast<std::uint64_t>(e.get(Builtin::n_tokens)), 32 * n_tensors)
            : std::max<std::uint64_t>(1024, 8 * n_tensors);
    const auto* size = std::ranges::lower_bound(hash_sizes, max_nodes);
    if (size == std::end(hash_sizes) || n_tensors_in_graph <= *size) return std::nullopt;
    return "llama.cpp aborts: the graph has " + std::to_string(n_tensors_in_graph) + " tensors, more than the " +
           std::to_string(*size) + " that it makes room for with this model";
}

} // namespace vramfit
