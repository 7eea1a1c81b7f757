#include "vramfit/memory/auto_batch.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t cache_element = 2; // bytes of f16
constexpr std::uint64_t k_and_v = 2;

std::uint64_t percent(std::uint64_t bytes, std::uint64_t share) {
    return checked_mul(bytes, share, "a share of the memory") / 100;
}

bool fits(const AutoBatch& rule, const AutoBatch::Step& step, const BatchQuestion& q) {
    const std::uint64_t threshold = percent(q.free, rule.load_percent);
    return q.predicted <= threshold && q.predicted <= percent(q.free, step.most_percent) &&
           step.surcharge <= threshold - q.predicted;
}

/// A count of the model's, 0 where it has none.
std::uint64_t count(const Model& model, std::string_view key, std::size_t il = 0) {
    const double value = model.hparams.get(key, 0, il);
    return value >= 1 && value <= 1e9 ? static_cast<std::uint64_t>(value) : 0;
}

std::uint64_t fewest_kv_heads(const Model& model) {
    std::uint64_t fewest = 0;
    for (std::size_t il = 0; il < model.n_block(); ++il) {
        const std::uint64_t heads = count(model, "attention.head_count_kv", il);
        if (heads > 0) fewest = fewest == 0 ? heads : std::min(fewest, heads);
    }
    return fewest;
}

std::uint64_t head_size(const Model& model) {
    if (const std::uint64_t size = count(model, "attention.key_length")) return size;
    const std::uint64_t heads = count(model, "attention.head_count");
    return heads == 0 ? 0 : count(model, "embedding_length") / heads;
}

} // namespace

std::uint64_t automatic_batch(const AutoBatch& rule, const BatchQuestion& q) {
    if (q.embeddings && rule.embeddings > 0) return std::min(rule.embeddings, q.n_ctx);
    if (q.cuda_without_flash_attn)
        return q.n_ctx > rule.small_above_ctx && q.smallest <= rule.small_memory ? rule.small : rule.otherwise;
    for (const AutoBatch::Step& step : rule.steps) {
        if (q.n_ctx > step.above_ctx && fits(rule, step, q)) return step.n_batch;
    }
    return rule.otherwise;
}

std::uint64_t predicted_memory(const Model& model, std::uint64_t file_bytes, std::uint64_t n_ctx) {
    std::uint64_t cache = checked_mul(k_and_v * cache_element, n_ctx, "a predicted cache");
    for (const std::uint64_t factor : {std::uint64_t{model.n_block()}, fewest_kv_heads(model), head_size(model)})
        cache = checked_mul(cache, factor, "a predicted cache");
    return checked_add(file_bytes, cache, "a predicted need");
}

} // namespace vramfit
