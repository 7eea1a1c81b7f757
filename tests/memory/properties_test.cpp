// What must hold for any deployment, over the whole catalog or a spread of it.
#include "vramfit/memory/estimate.hpp"

#include "support/errors.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <functional>

using namespace vramfit;

namespace {

/// Dense, grouped, sliding window, MLA, hybrid, recurrent, chunked, shared caches, experts.
const std::vector<std::string> spread = {
    "llama3.1-8b",        "gemma3-12b",  "gemma3n-e4b",        "gemma4-31b",        "deepseek-v2-lite", "qwen3-30b-a3b",
    "qwen3-next-80b-a3b", "mamba2-2.7b", "jamba-mini-1.5-52b", "llama4-scout-109b", "gpt-oss-20b",      "lfm2-1.2b",
    "granite-4.0-h-tiny", "phi-2",       "command-r7b"};

std::uint64_t cache_bytes(const MemoryEstimate& e) {
    std::uint64_t sum = e.host.kv_cache + e.host.recurrent_state;
    for (const DeviceMemory& device : e.devices) sum += device.kv_cache + device.recurrent_state;
    return sum;
}

std::uint64_t weights_of(const MemoryEstimate& e) {
    std::uint64_t sum = e.host.weights;
    for (const DeviceMemory& device : e.devices) sum += device.weights;
    return sum;
}

Deployment server() {
    Deployment d;
    d.settings.n_ctx = 8192;
    d.settings.n_seq_max = 4;
    d.settings.kv_unified = true;
    d.settings.n_outputs_max = 4;
    return d;
}

} // namespace

TEST_CASE("more context never shrinks a cache") {
    for (const std::string& id : spread) {
        Estimator estimator(catalog_model(id));
        std::uint64_t before = 0;
        for (const std::uint64_t n_ctx : {1, 256, 257, 1000, 4096, 8192, 10000, 32768, 100000, 131072, 1048576}) {
            INFO(id << ' ' << n_ctx);
            Deployment d = server();
            d.settings.n_ctx = n_ctx;
            const std::uint64_t bytes = cache_bytes(estimator.estimate(d));
            CHECK(bytes >= before);
            before = bytes;
        }
    }
}

TEST_CASE("more sequences never shrink a cache") {
    for (const std::string& id : spread) {
        Estimator estimator(catalog_model(id));
        for (const bool unified : {true, false}) {
            std::uint64_t before = 0;
            for (const std::uint64_t n_seq_max : {1, 2, 4, 8, 16, 64}) {
                INFO(id << ' ' << n_seq_max << ' ' << unified);
                Deployment d = server();
                d.settings.n_ctx = 65536; // a multiple of 64 x 256: no share is rounded up
                d.settings.n_seq_max = n_seq_max;
                d.settings.kv_unified = unified;
                const std::uint64_t bytes = cache_bytes(estimator.estimate(d));
                CHECK(bytes >= before);
                before = bytes;
            }
        }
    }
}

TEST_CASE("a wider cache type never shrinks a cache") {
    for (const std::string& id : spread) {
        Estimator estimator(catalog_model(id));
        std::uint64_t before = 0;
        for (const TensorType type : {TensorType::q4_0, TensorType::q4_1, TensorType::q5_0, TensorType::q5_1,
                                      TensorType::q8_0, TensorType::f16, TensorType::f32}) {
            INFO(id << ' ' << traits(type).name);
            Deployment d = server();
            d.settings.type_k = type;
            d.settings.type_v = type;
            const MemoryEstimate e = estimator.estimate(d);
            if (e.refusal) continue;
            CHECK(cache_bytes(e) >= before);
            before = cache_bytes(e);
        }
    }
}

TEST_CASE("a whole window is never smaller than a sliding one") {
    for (const std::string& id : spread) {
        INFO(id);
        Estimator estimator(catalog_model(id));
        Deployment d = server();
        const std::uint64_t sliding = cache_bytes(estimator.estimate(d));
        d.settings.swa_full = true;
        CHECK(cache_bytes(estimator.estimate(d)) >= sliding);
    }
}

TEST_CASE("caches and weights are the same in sum, wherever their layers lie") {
    for (const std::string& id : spread) {
        Estimator estimator(catalog_model(id));
        const Deployment d = server();
        const MemoryEstimate whole = estimator.estimate(d);
        for (const std::int64_t n : {1, 5, 12, 1000}) {
            for (const std::uint32_t n_devices : {1, 2, 3}) {
                INFO(id << " -ngl " << n << ", devices " << n_devices);
                Deployment split = d;
                split.placement.n_gpu_layers = n;
                split.placement.n_devices = n_devices;
                const MemoryEstimate e = estimator.estimate(split);
                CHECK(e.devices.size() == n_devices);
                // alignment differs between device and host (128, 32), and a row's padding is the device's alone
                CHECK(cache_bytes(e) <= cache_bytes(whole) + 128 * 1024);
                CHECK(cache_bytes(whole) <= cache_bytes(e) + 128 * 1024);
                CHECK(weights_of(e) <= weights_of(whole) + weights_of(whole) / 500);
                CHECK(e.tensor_bytes == whole.tensor_bytes);
            }
        }
    }
}

TEST_CASE("the caches of an estimate add up to its bytes by device") {
    for (const std::string& id : spread) {
        INFO(id);
        Estimator estimator(catalog_model(id));
        Deployment d = server();
        d.placement.n_gpu_layers = 9;
        const MemoryEstimate e = estimator.estimate(d);
        std::uint64_t sum = 0;
        for (const Cache& cache : e.caches) sum += cache.alloc_bytes();
        CHECK(sum == cache_bytes(e));
    }
}

TEST_CASE("an estimator's answer does not depend on what it was asked before") {
    for (const std::string& id : spread) {
        INFO(id);
        Estimator used(catalog_model(id));
        Deployment other = server();
        other.settings.n_ctx = 3000;
        other.settings.n_seq_max = 3;
        other.settings.kv_unified = false;
        other.settings.n_ubatch = 100;
        other.settings.flash_attn = FlashAttention::off;
        other.placement.n_gpu_layers = 7;
        other.file_type = FileType::q8_0;
        (void)used.estimate(other);
        other.placement.n_devices = 2;
        (void)used.estimate(other);
        const MemoryEstimate a = used.estimate(server());
        const MemoryEstimate b = Estimator(catalog_model(id)).estimate(server());
        CHECK(a.devices[0].sum() == b.devices[0].sum());
        CHECK(a.devices[0].compute == b.devices[0].compute);
        CHECK(a.host.total() == b.host.total());
        CHECK(a.n_nodes == b.n_nodes);
    }
}

TEST_CASE("every catalog model has an estimate in each kind of setting") {
    for (const CatalogEntry& entry : catalog_entries()) {
        if (!entry.unsupported.empty()) continue;
        INFO(entry.id);
        const std::string error = test::error_of([&] {
            Estimator estimator(catalog_model(entry.id));
            Deployment d = server();
            for (const FlashAttention flash : {FlashAttention::automatic, FlashAttention::off}) {
                d.settings.flash_attn = flash;
                const MemoryEstimate e = estimator.estimate(d);
                CHECK_FALSE(e.refusal);
                CHECK(e.devices[0].weights > 0);
                CHECK(e.devices[0].compute > 0);
                CHECK(e.host.weights > 0);
                CHECK(e.compute_basis == Basis::exact);
            }
        });
        CHECK(error == "no error");
    }
}
