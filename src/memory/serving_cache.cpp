#include "vramfit/memory/serving_cache.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>
#include <utility>

namespace vramfit {
namespace {

using Kind = LayerCache::Kind;

constexpr std::string_view what = "a KV cache";
// A kind with fewer layers than that many times those of the rarest makes groups of its own size (kv_cache_utils.py).
constexpr double nearly_as_many = 1.5;

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

/// Layers that keep the same, and how many of them there are.
struct Alike {
    LayerCache layer;
    std::uint64_t n_layers = 0;
};

std::vector<Alike> alike_layers(const std::vector<LayerCache>& layers) {
    std::vector<Alike> kinds;
    for (const LayerCache& layer : layers) {
        const auto known = std::ranges::find(kinds, layer, &Alike::layer);
        if (known == kinds.end())
            kinds.push_back({layer, 1});
        else
            ++known->n_layers;
    }
    return kinds;
}

/// Layers of one kind share all their blocks, be their rows as wide as they like.
bool is_uniform(const std::vector<Alike>& kinds) {
    return std::ranges::all_of(kinds, [&](const Alike& kind) {
        return kind.layer.kind == kinds.front().layer.kind && kind.layer.window == kinds.front().layer.window;
    });
}

std::uint64_t page_of(const LayerCache& layer, std::uint64_t block) {
    return layer.kind == Kind::state ? layer.state_bytes : checked_mul(layer.token_bytes, block, what);
}

/// The tokens of an attention block, long enough that its page holds a recurrent state.
std::uint64_t block_beside_state(const std::vector<Alike>& kinds, std::uint64_t block) {
    std::uint64_t state = 0;
    std::uint64_t token = 0;
    for (const Alike& kind : kinds) {
        state = std::max(state, kind.layer.state_bytes);
        token = std::max(token, kind.layer.token_bytes);
    }
    if (state == 0 || token == 0) return block;
    return block * std::max<std::uint64_t>(1, divided_up(state, checked_mul(block, token, what)));
}

std::uint64_t layers_of_group(const std::vector<Alike>& kinds) {
    const auto [least, most] = std::ranges::minmax_element(kinds, {}, &Alike::n_layers);
    const bool close = static_cast<double>(most->n_layers) < nearly_as_many * static_cast<double>(least->n_layers);
    return close ? most->n_layers : least->n_layers;
}

} // namespace

ServingCache::ServingCache(const CacheRules& rules, const std::vector<LayerCache>& layers) : rules_(rules) {
    for (const LayerCache& layer : layers) {
        switch (layer.kind) {
        case Kind::full: full_ = checked_add(full_, layer.token_bytes, what); break;
        case Kind::window: windows_.emplace_back(layer.window, layer.token_bytes); break;
        case Kind::state: state_ = checked_add(state_, layer.state_bytes, what); break;
        }
    }
    if (rules.rule == CacheRule::paged) make_groups(layers);
}

void ServingCache::make_groups(const std::vector<LayerCache>& layers) {
    std::vector<LayerCache> seen = layers;
    if (!rules_.hybrid) {
        for (LayerCache& layer : seen) {
            if (layer.kind == Kind::window) layer = {Kind::full, layer.token_bytes};
        }
    }
    const std::vector<Alike> kinds = alike_layers(seen);
    if (kinds.empty()) return;
    if (is_uniform(kinds)) {
        groups_ = {{kinds.front().layer.kind, rules_.block, kinds.front().layer.window}};
        for (const Alike& kind : kinds)
            block_bytes_ =
                checked_add(block_bytes_, checked_mul(page_of(kind.layer, rules_.block), kind.n_layers, what), what);
        return;
    }
    const std::uint64_t block = block_beside_state(kinds, rules_.block);
    std::uint64_t page = 0;
    for (const Alike& kind : kinds) page = std::max(page, page_of(kind.layer, block));
    const std::uint64_t n_layers = layers_of_group(kinds);
    for (const Alike& kind : kinds) {
        // Narrower rows make up for it with longer blocks, as far as that goes without a rest.
        const std::uint64_t own = page_of(kind.layer, block);
        const bool stretched = kind.layer.kind != Kind::state && own > 0 && page % own == 0;
        const Group group{kind.layer.kind, stretched ? block * (page / own) : block, kind.layer.window};
        groups_.insert(groups_.end(), divided_up(kind.n_layers, n_layers), group);
    }
    block_bytes_ = checked_mul(page, n_layers, what);
}

std::uint64_t ServingCache::blocks_of(const Group& group, std::uint64_t n_ctx, std::uint64_t n_batch) const {
    switch (group.kind) {
    case Kind::full: return divided_up(n_ctx, group.block);
    case Kind::state: return rules_.state_blocks;
    case Kind::window: break;
    }
    // One more: a window need not begin with a block.
    const std::uint64_t in_sight = checked_add(std::max<std::uint64_t>(1, group.window) - 1, n_batch, what);
    return divided_up(std::min(in_sight, n_ctx), group.block) + 1;
}

std::uint64_t ServingCache::blocks_of_request(std::uint64_t n_ctx, std::uint64_t n_batch) const {
    std::uint64_t sum = 0;
    for (const Group& group : groups_) sum += blocks_of(group, n_ctx, n_batch);
    return sum;
}

/// Bytes that a token takes of a pool, those of its share of the windows included.
std::uint64_t ServingCache::pool_token_bytes() const {
    std::uint64_t windows = 0;
    for (const auto& [window, bytes] : windows_) windows = checked_add(windows, bytes, what);
    if (full_ == 0) return windows;
    return checked_add(full_, static_cast<std::uint64_t>(rules_.window_share * static_cast<double>(windows)), what);
}

RequestBytes ServingCache::request(std::uint64_t n_ctx, std::uint64_t n_batch) const {
    RequestBytes bytes;
    switch (rules_.rule) {
    case CacheRule::paged:
        for (const Group& group : groups_) {
            std::uint64_t& part = group.kind == Kind::state ? bytes.state : bytes.kv_cache;
            part = checked_add(part, checked_mul(blocks_of(group, n_ctx, n_batch), block_bytes_, what), what);
        }
        break;
    case CacheRule::token_pool:
        bytes.kv_cache = checked_mul(pool_token_bytes(), n_ctx, what);
        if (state_ > 0) {
            const double share = rules_.state_share * static_cast<double>(bytes.kv_cache);
            bytes.state = std::max(state_, static_cast<std::uint64_t>(std::min(share, 1e18)));
        }
        break;
    case CacheRule::growing: {
        const std::uint64_t tokens = pad(n_ctx, rules_.block);
        bytes.kv_cache = checked_mul(full_, tokens, what);
        for (const auto& [window, token] : windows_)
            bytes.kv_cache = checked_add(bytes.kv_cache, checked_mul(token, std::min(tokens, window), what), what);
        bytes.state = state_;
        break;
    }
    }
    return bytes;
}

std::uint64_t ServingCache::tokens(std::uint64_t bytes) const {
    if (rules_.rule == CacheRule::token_pool) {
        const double share = state_ > 0 ? 1 / (1 + rules_.state_share) : 1;
        const std::uint64_t token = pool_token_bytes();
        return token == 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(bytes) * share) / token;
    }
    if (rules_.rule == CacheRule::growing || block_bytes_ == 0) return 0;
    std::uint64_t block = 0; // the shortest: what is reported counts in it
    for (const Group& group : groups_) {
        if (group.kind != Kind::state) block = block == 0 ? group.block : std::min(block, group.block);
    }
    return bytes / block_bytes_ / groups_.size() * block;
}

double ServingCache::concurrency(std::uint64_t bytes, std::uint64_t n_ctx, std::uint64_t n_batch) const {
    if (rules_.rule == CacheRule::growing) return 0;
    if (rules_.rule == CacheRule::token_pool)
        return static_cast<double>(tokens(bytes)) / static_cast<double>(std::max<std::uint64_t>(1, n_ctx));
    const std::uint64_t needed = blocks_of_request(n_ctx, n_batch);
    if (block_bytes_ == 0 || needed == 0) return 0;
    const std::uint64_t blocks = bytes / block_bytes_;
    return static_cast<double>(blocks) / static_cast<double>(needed);
}

} // namespace vramfit
