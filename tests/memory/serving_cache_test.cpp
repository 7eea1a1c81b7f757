#include "vramfit/memory/serving_cache.hpp"

#include "catch.hpp"
#include "support/near.hpp"

using vramfit::CacheRule;
using vramfit::CacheRules;
using vramfit::LayerCache;
using vramfit::ServingCache;
using Kind = vramfit::LayerCache::Kind;

namespace {

constexpr std::uint64_t gib = 1024ULL * 1024 * 1024;

std::vector<LayerCache> layers(std::size_t n, LayerCache layer) { return std::vector<LayerCache>(n, layer); }

std::vector<LayerCache> operator+(std::vector<LayerCache> a, const std::vector<LayerCache>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

LayerCache full(std::uint64_t token_bytes) { return {Kind::full, token_bytes}; }
LayerCache window(std::uint64_t token_bytes, std::uint64_t tokens) { return {Kind::window, token_bytes, tokens}; }
LayerCache state(std::uint64_t bytes) { return {Kind::state, 0, 0, bytes}; }

CacheRules paged() {
    CacheRules rules;
    rules.block = 16;
    rules.state_blocks = 2;
    return rules;
}

} // namespace

TEST_CASE("paged: a block has 16 tokens of every layer, and a request takes whole blocks") {
    // Llama 3.1 8B: 32 layers, 8 heads of 128, K and V in 16 bits: 4096 bytes a layer, 2 MiB a block.
    const ServingCache cache(paged(), layers(32, full(4096)));
    CHECK(cache.block_bytes() == 32 * 4096 * 16);
    CHECK(cache.request(32768, 2048).kv_cache == 4 * gib); // 2048 blocks
    CHECK(cache.request(17, 2048).kv_cache == 2 * cache.block_bytes());
    CHECK(cache.tokens(4 * gib) == 32768);
    CHECK(cache.tokens(4 * gib - 1) == 32752); // a block less
    CHECK(cache.concurrency(4 * gib, 8192, 2048) == 4);
}

TEST_CASE("paged: layers of one kind but with rows of their own share blocks") {
    const ServingCache cache(paged(), layers(2, full(4096)) + layers(2, full(1024)));
    CHECK(cache.n_groups() == 1);
    CHECK(cache.block_bytes() == 16 * (2 * 4096 + 2 * 1024));
}

TEST_CASE("paged: windows are groups of as many layers, each with blocks for what it sees") {
    // Gemma 3 27B: 10 layers see all, 52 see 1024 tokens: groups of 10 layers, 1 + 6.
    const ServingCache gemma(paged(), layers(10, full(8192)) + layers(52, window(8192, 1024)));
    CHECK(gemma.n_groups() == 7);
    CHECK(gemma.block_bytes() == 10 * 8192 * 16);
    // 32768 / 16 = 2048 blocks, and 6 x (ceil((1023 + 2048) / 16) + 1) = 6 x 193.
    CHECK(gemma.request(32768, 2048).kv_cache == (2048 + 6 * 193) * gemma.block_bytes());
    // Tokens are counted as if every group needed as many blocks: 7000 blocks, 1000 a group.
    CHECK(gemma.tokens(7000 * gemma.block_bytes()) == 16000);
    // A short request: no more than its tokens, and one block more.
    CHECK(gemma.request(160, 2048).kv_cache == (10 + 6 * 11) * gemma.block_bytes());

    CacheRules without = paged();
    without.hybrid = false;
    const ServingCache as_full(without, layers(10, full(8192)) + layers(52, window(8192, 1024)));
    CHECK(as_full.n_groups() == 1);
    CHECK(as_full.request(32768, 2048).kv_cache == 62ULL * 8192 * 32768);
}

TEST_CASE("paged: nearly as many layers of each kind make one group each, with room left over") {
    // gpt-oss-20b with a draft layer: 12 windows and 13 that see all: 13 < 1.5 x 12.
    const ServingCache cache(paged(), layers(13, full(2048)) + layers(12, window(2048, 128)));
    CHECK(cache.n_groups() == 2);
    CHECK(cache.block_bytes() == 13 * 2048 * 16);
}

TEST_CASE("paged: narrower rows have longer blocks, so that all pages are alike") {
    const ServingCache cache(paged(), layers(8, full(4096)) + layers(16, window(1024, 512)));
    CHECK(cache.n_groups() == 3);
    CHECK(cache.block_bytes() == 8 * 4096 * 16);
    // 64 tokens to a block of the windows: ceil((511 + 2048) / 64) + 1 = 41, twice; 1024 / 16 of the others... at 16384.
    CHECK(cache.request(16384, 2048).kv_cache == (1024 + 2 * 41) * cache.block_bytes());
}

TEST_CASE("paged: beside recurrent state a block is as long as makes its page hold the state") {
    // Qwen3.5 122B A10B, 8-bit cache: 12 attention layers with 2 heads of 256, 1024 bytes a token; 36 layers with
    // 64 x 128 x 128 floats of state and 3 x 12288 16-bit elements of convolution: 4194304 + 73728 bytes.
    const ServingCache cache(paged(), layers(12, full(1024)) + layers(36, state(4268032)));
    CHECK(cache.n_groups() == 4);
    // ceil(4268032 / (16 x 1024)) = 261 times 16 tokens.
    CHECK(cache.block_bytes() == 12ULL * 4176 * 1024);
    // 131072 tokens: 32 blocks of attention, 3 groups with 2 of state; the report has 11.79 with 448 blocks.
    CHECK(cache.request(131072, 8192).kv_cache == 32 * cache.block_bytes());
    CHECK(cache.request(131072, 8192).state == 6 * cache.block_bytes());
    CHECK(vramfit::test::near(cache.concurrency(448 * cache.block_bytes(), 131072, 8192), 11.789, 0.001));
    CHECK(cache.tokens(448 * cache.block_bytes()) == 467712);
}

TEST_CASE("paged: with a speculative layer, as vLLM reports it for Qwen3.5 with MTP") {
    // 13 attention layers, a fourth column of convolution (4 x 12288 x 2 bytes), one block of state more: with 24.05
    // GiB the log has 482080 tokens and 6.42 requests of 262144.
    CacheRules rules = paged();
    rules.state_blocks = 3;
    const ServingCache cache(rules, layers(13, full(1024)) + layers(36, state(4194304 + 98304)));
    CHECK(cache.block_bytes() == 13ULL * 4192 * 1024);
    const auto available = static_cast<std::uint64_t>(24.05 * static_cast<double>(gib));
    CHECK(cache.tokens(available) == 482080);
    CHECK(vramfit::test::near(cache.concurrency(available, 262144, 8192), 6.42, 0.005));
}

TEST_CASE("paged: a model of states alone has no tokens to count") {
    const ServingCache cache(paged(), layers(4, state(1000)));
    CHECK(cache.block_bytes() == 4000);
    CHECK(cache.request(1 << 20, 2048).state == 8000);
    CHECK(cache.request(1 << 20, 2048).kv_cache == 0);
    CHECK(cache.tokens(1 << 20) == 0);
    CHECK(cache.concurrency(80000, 1000, 2048) == 10);
    CHECK(ServingCache(paged(), {}).concurrency(80000, 1000, 2048) == 0);
}

TEST_CASE("token pool: tokens of all layers; windows have a share of them, states a share of the memory") {
    CacheRules rules;
    rules.rule = CacheRule::token_pool;
    rules.window_share = 0.8;
    rules.state_share = 0.9;
    // Llama 3 8B: SGLang's log has 871371 tokens with 53.18 GB of K and as much of V.
    const ServingCache llama(rules, layers(32, full(4096)));
    CHECK(llama.request(871371, 0).kv_cache == 871371ULL * 131072);
    CHECK(vramfit::test::near(static_cast<double>(871371ULL * 131072) / static_cast<double>(gib), 2 * 53.18, 0.01));
    CHECK(llama.tokens(871371ULL * 131072) == 871371);
    CHECK(vramfit::test::near(llama.concurrency(871371ULL * 131072, 8192, 0), 106.37, 0.01));
    // 10 layers of 100 bytes and 50 with windows: 1000 + 0.8 x 5000 bytes a token.
    const ServingCache gemma(rules, layers(10, full(100)) + layers(50, window(100, 1024)));
    CHECK(gemma.request(1000, 0).kv_cache == 5000000);
    CHECK(gemma.tokens(5000000) == 1000);
    // 1.9 parts of memory, one of them for the cache.
    const ServingCache hybrid(rules, layers(1, full(100)) + layers(3, state(10)));
    CHECK(hybrid.request(1000, 0).kv_cache == 100000);
    CHECK(hybrid.request(1000, 0).state == 90000);
    CHECK(hybrid.tokens(190000) == 1000);
}

TEST_CASE("growing: what was read and written so far, in steps") {
    CacheRules rules;
    rules.rule = CacheRule::growing;
    rules.block = 256;
    const ServingCache cache(rules, layers(2, full(100)) + layers(3, window(100, 512)) + layers(1, state(7)));
    CHECK(cache.request(1, 0).kv_cache == 256 * 500);
    CHECK(cache.request(1000, 0).kv_cache == 1024 * 200 + 512 * 300);
    CHECK(cache.request(1000, 0).state == 7);
    CHECK(cache.tokens(1 << 20) == 0); // nothing is reserved
    CHECK(cache.concurrency(1 << 20, 1000, 0) == 0);
}
