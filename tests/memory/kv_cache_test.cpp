#include "vramfit/memory/estimate.hpp"

#include "support/errors.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

using namespace vramfit;

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr std::uint64_t gibibyte = 1024 * mebibyte;

Deployment with_context(std::uint64_t n_ctx, TensorType type = TensorType::f16) {
    Deployment d;
    d.settings.n_ctx = n_ctx;
    d.settings.type_k = type;
    d.settings.type_v = type;
    return d;
}

const Cache& cache_of(const MemoryEstimate& e, const std::string& kind) {
    for (const Cache& cache : e.caches) {
        if (cache.kind == kind) return cache;
    }
    FAIL("no cache " << kind);
    return e.caches.front();
}

} // namespace

TEST_CASE("Llama 3.1 8B: 128 KiB a token, 1, 4 and 16 GiB") {
    // 2 (K and V) x 32 layers x 8 KV heads x 128 x 2 bytes = 131072
    Estimator llama(catalog_model("llama3.1-8b"));
    CHECK(llama.kv_bytes_per_token(with_context(8192)) == 131072);
    CHECK(llama.estimate(with_context(8192)).devices[0].kv_cache == gibibyte);
    CHECK(llama.estimate(with_context(32768)).devices[0].kv_cache == 4 * gibibyte);
    CHECK(llama.estimate(with_context(131072)).devices[0].kv_cache == 16 * gibibyte);
}

TEST_CASE("a cache type costs its bytes a block") {
    Estimator llama(catalog_model("llama3.1-8b"));
    const auto gib_at = [&](TensorType type) { return llama.estimate(with_context(8192, type)).devices[0].kv_cache; };
    CHECK(gib_at(TensorType::f32) == 2 * gibibyte);
    CHECK(gib_at(TensorType::bf16) == gibibyte);
    CHECK(gib_at(TensorType::q8_0) == 544 * mebibyte); // 34 bytes for 32 elements instead of 64
    CHECK(gib_at(TensorType::q5_1) == 384 * mebibyte); // 24
    CHECK(gib_at(TensorType::q5_0) == 352 * mebibyte); // 22
    CHECK(gib_at(TensorType::q4_1) == 320 * mebibyte); // 20
    CHECK(gib_at(TensorType::q4_0) == 288 * mebibyte); // 18
    CHECK(gib_at(TensorType::iq4_nl) == 288 * mebibyte);
}

TEST_CASE("K and V may have types of their own") {
    Estimator llama(catalog_model("llama3.1-8b"));
    Deployment d = with_context(8192);
    d.settings.type_k = TensorType::q8_0;
    CHECK(llama.estimate(d).devices[0].kv_cache == (272 + 512) * mebibyte);
}

TEST_CASE("sliding-window layers keep window + ubatch cells, whole contexts only with --swa-full") {
    // gemma3-12b: 48 layers, every sixth full, window 1024, 8 KV heads of 256: a cell of a layer is 8 x 256 x 2 x 2 = 8 KiB
    Estimator gemma(catalog_model("gemma3-12b"));
    Deployment d = with_context(32768);
    MemoryEstimate e = gemma.estimate(d);
    CHECK(cache_of(e, "non_swa").layers.size() == 8);
    CHECK(cache_of(e, "non_swa").cells == 32768);
    CHECK(cache_of(e, "swa").layers.size() == 40);
    CHECK(cache_of(e, "swa").cells == 1536);
    CHECK(e.devices[0].kv_cache == 8192 * (8 * 32768ULL + 40 * 1536ULL));

    d.settings.n_seq_max = 4; // llama-server's slots: unified, a window each
    d.settings.kv_unified = true;
    CHECK(cache_of(gemma.estimate(d), "swa").cells == 4608); // 4 x 1024 + 512

    d.settings.kv_unified = false; // separate: one window a stream
    e = gemma.estimate(d);
    CHECK(cache_of(e, "swa").cells == 1536);
    CHECK(cache_of(e, "swa").n_stream == 4);

    d.settings.swa_full = true;
    CHECK(cache_of(gemma.estimate(d), "swa").cells == 8192);

    d = with_context(1024); // never more than the context
    CHECK(cache_of(gemma.estimate(d), "swa").cells == 1024);

    d = with_context(32768);
    d.settings.n_ubatch = 2048;
    CHECK(cache_of(gemma.estimate(d), "swa").cells == 3072); // 1024 + 2048
}

TEST_CASE("MLA keeps one latent row a token and no V") {
    // deepseek-v2-lite: 27 layers, (512 + 64) x 2 bytes
    Estimator deepseek(catalog_model("deepseek-v2-lite"));
    CHECK(deepseek.kv_bytes_per_token(with_context(8192)) == 27 * 576 * 2);
    const MemoryEstimate e = deepseek.estimate(with_context(163840));
    CHECK(e.devices[0].kv_cache == 163840ULL * 27 * 576 * 2);
    for (const CacheLayer& layer : cache_of(e, "mla").layers) CHECK(layer.v_bytes == 0);
}

TEST_CASE("recurrent state is f32, a copy a sequence, and does not grow with the context") {
    // mamba2-2.7b: 64 layers, inner 5120, state 128, 1 group, conv kernel 4:
    // R = 3 x (5120 + 2 x 128), S = 128 x 5120 floats a layer
    const std::uint64_t a_sequence = 64ULL * 4 * (3 * (5120 + 256) + 128 * 5120);
    Estimator mamba(catalog_model("mamba2-2.7b"));
    Deployment d = with_context(8192);
    MemoryEstimate e = mamba.estimate(d);
    CHECK(e.devices[0].recurrent_state == a_sequence);
    CHECK(e.devices[0].kv_cache == 0);
    CHECK(mamba.kv_bytes_per_token(d) == 0);
    d.settings.n_seq_max = 4;
    CHECK(mamba.estimate(d).devices[0].recurrent_state == 4 * a_sequence);
    d.settings.n_ctx = 65536;
    d.settings.type_k = TensorType::f32;
    CHECK(mamba.estimate(d).devices[0].recurrent_state == 4 * a_sequence);
}

TEST_CASE("separate sequences have streams, unified ones share one") {
    Estimator llama(catalog_model("llama3.1-8b"));
    Deployment d = with_context(10000);
    d.settings.n_seq_max = 3;
    CHECK(llama.estimate(d).devices[0].kv_cache == 10752ULL * 131072);
    d.settings.kv_unified = true;
    CHECK(llama.estimate(d).devices[0].kv_cache == 10240ULL * 131072);
}

TEST_CASE("a cache lies with its layer, or on the host with --no-kv-offload") {
    Estimator llama(catalog_model("llama3.1-8b"));
    Deployment d = with_context(8192);
    d.placement.n_gpu_layers = 17; // the output layer and 16 blocks
    MemoryEstimate e = llama.estimate(d);
    CHECK(e.devices[0].kv_cache == gibibyte / 2);
    CHECK(e.host.kv_cache == gibibyte / 2);
    d.settings.offload_kqv = false;
    e = llama.estimate(d);
    CHECK(e.devices[0].kv_cache == 0);
    CHECK(e.host.kv_cache == gibibyte);
}

TEST_CASE("settings that llama.cpp refuses are named in its own words") {
    Estimator llama(catalog_model("llama3.1-8b"));
    Deployment d = with_context(8192, TensorType::q8_0);
    d.settings.flash_attn = FlashAttention::off;
    CHECK(llama.estimate(d).refusal == "quantized V cache requires flash_attn to be enabled");
    d.settings.type_v = TensorType::f16; // K alone may be
    CHECK_FALSE(llama.estimate(d).refusal);

    Estimator phi(catalog_model("phi-2")); // heads of 80
    CHECK(phi.estimate(with_context(2048, TensorType::q8_0)).refusal ==
          "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80");

    Estimator deepseek(catalog_model("deepseek-v2-lite"));
    d = with_context(8192);
    d.settings.type_k = TensorType::q8_0;
    CHECK(deepseek.estimate(d).refusal == "model does not support different K (q8_0) and V (f16) cache types");
}

TEST_CASE("a cache beyond counting is an error, not a small number") {
    Model model = catalog_model("llama3.1-8b");
    model.hparams.set("attention.key_length", 1e15);
    Estimator estimator(std::move(model));
    Deployment d = with_context(2147483647);
    CHECK(test::error_of([&] { estimator.estimate(d); }) != "no error");
}
