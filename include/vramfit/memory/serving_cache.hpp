#pragma once

#include <cstdint>
#include <vector>

namespace vramfit {

/// The caches of engines that are not llama.cpp: how many bytes a request needs, and how many tokens the memory that is
/// left holds. Three rules are known.
///
/// `paged` (vLLM, v1/core/kv_cache_utils.py and v1/kv_cache_interface.py at 001cabc): blocks of tokens. Layers of one
/// kind are one group, and a block has a page for each of them. Layers of several kinds are put into groups of as many
/// layers each, whose blocks have one size; a block belongs to one group at a time, so that a request takes blocks for
/// every group: all its tokens for layers that see everything, the window and the batch that is being read for layers
/// with a sliding window, a fixed number for layers with recurrent state. Beside state, the block of attention layers
/// is as long as makes its page hold the state.
///
/// `token_pool` (SGLang, model_runner_kv_cache_mixin.py): single tokens; layers with a sliding window have a share of
/// the tokens that the others have, and recurrent states take a share of the memory beside them.
///
/// `growing` (transformers' DynamicCache, mlx_lm's KVCache): nothing is reserved; the cache has what was read and
/// written so far, in steps.
enum class CacheRule : std::uint8_t { paged, token_pool, growing };

/// What one layer keeps on one device.
struct LayerCache {
    enum class Kind : std::uint8_t { full, window, state };

    Kind kind = Kind::full;
    std::uint64_t token_bytes = 0; ///< a token, keys and values together
    std::uint64_t window = 0;      ///< tokens, of Kind::window
    std::uint64_t state_bytes = 0; ///< a sequence, of Kind::state

    bool operator==(const LayerCache&) const = default;
};

/// The constants of a runtime's rule.
struct CacheRules {
    CacheRule rule = CacheRule::paged;
    std::uint64_t block = 16; ///< tokens of a block; with `growing`: of a step
    bool hybrid = true;       ///< `paged`: windows keep no more than they see; else they are sized as if they saw all
    std::uint64_t state_blocks = 1; ///< `paged`: of a sequence in a group of recurrent layers
    double window_share = 1;        ///< `token_pool`: tokens of window layers for one of the others
    double state_share = 0;         ///< `token_pool`: bytes of recurrent states for one of the cache
};

/// Bytes of a request, by what they are for.
struct RequestBytes {
    std::uint64_t kv_cache = 0, state = 0;
};

/// How a runtime keeps the caches of a device's layers.
class ServingCache {
public:
    ServingCache(const CacheRules& rules, const std::vector<LayerCache>& layers);

    /// What one sequence of `n_ctx` tokens takes, read in batches of `n_batch`. Throws Error for sizes beyond counting.
    RequestBytes request(std::uint64_t n_ctx, std::uint64_t n_batch) const;

    /// Tokens that `bytes` of memory hold, as the runtime counts them. 0 where no layer has a cache that grows.
    std::uint64_t tokens(std::uint64_t bytes) const;

    /// How many sequences of `n_ctx` tokens `bytes` of memory hold at once.
    double concurrency(std::uint64_t bytes, std::uint64_t n_ctx, std::uint64_t n_batch) const;

    std::uint64_t n_groups() const { return groups_.size(); }
    std::uint64_t block_bytes() const { return block_bytes_; } ///< of a block with all its pages

private:
    /// Layers whose blocks are handed out together.
    struct Group {
        LayerCache::Kind kind = LayerCache::Kind::full;
        std::uint64_t block = 0; ///< tokens
        std::uint64_t window = 0;
    };
    void make_groups(const std::vector<LayerCache>& layers);
    std::uint64_t blocks_of(const Group& group, std::uint64_t n_ctx, std::uint64_t n_batch) const;
    std::uint64_t blocks_of_request(std::uint64_t n_ctx, std::uint64_t n_batch) const;
    std::uint64_t pool_token_bytes() const;

    CacheRules rules_;
    std::uint64_t full_ = 0, state_ = 0; ///< bytes: a token of all full layers, a sequence of all states
    std::vector<std::pair<std::uint64_t, std::uint64_t>> windows_; ///< tokens, and bytes a token, a layer
    std::vector<Group> groups_;
    std::uint64_t block_bytes_ = 0;
};

} // namespace vramfit
