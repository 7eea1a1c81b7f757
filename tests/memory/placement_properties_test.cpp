// What must hold of weights and caches wherever they lie, whatever the model.
#include "vramfit/memory/estimate.hpp"

#include "memory/row_split.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/weights.hpp"

#include "catch.hpp"

#include <limits>

using namespace vramfit;

namespace {

constexpr std::uint32_t all_experts = std::numeric_limits<std::uint32_t>::max();

Deployment deployment() {
    Deployment d;
    d.settings.n_ctx = 8192;
    d.settings.n_seq_max = 4;
    d.settings.kv_unified = true;
    d.settings.n_outputs_max = 4;
    return d;
}

std::uint64_t weights_in_all(const MemoryEstimate& e) {
    std::uint64_t sum = e.host.weights;
    for (const DeviceMemory& device : e.devices) sum += device.weights;
    return sum;
}

void check_same(const DeviceMemory& a, const DeviceMemory& b) {
    CHECK(a.weights == b.weights);
    CHECK(a.kv_cache == b.kv_cache);
    CHECK(a.recurrent_state == b.recurrent_state);
    CHECK(a.compute == b.compute);
}

std::uint64_t embedding_bytes(const Model& model) { // Q6_K, as llama-quantize makes tied embeddings
    for (const Tensor& t : model.tensors) {
        if (model.name_of(t) == "token_embd.weight") return cuda_alloc_size(t, TensorType::q6_k);
    }
    return 0;
}

} // namespace

TEST_CASE("more layers on the device never shrink its weights", "[placement]") {
    for (const char* id : {"llama3.2-1b", "qwen3-30b-a3b", "gemma3-4b", "granite-4.0-h-tiny"}) {
        Estimator estimator(catalog_model(id));
        std::uint64_t before = 0;
        for (std::int64_t n = 0; n <= estimator.model().n_block() + 2; ++n) {
            INFO(id << " -ngl " << n);
            Deployment d = deployment();
            d.placement.n_gpu_layers = n;
            const std::uint64_t weights = estimator.estimate(d).devices[0].weights;
            CHECK(weights >= before);
            before = weights;
        }
        CHECK(before > 0);
    }
}

TEST_CASE("weights are the same in sum wherever they lie, but for the second copy of a tied embedding", "[placement]") {
    // Rows of whole blocks, so that no padding differs between device and host.
    for (const char* id : {"llama3.1-8b", "llama3.2-1b"}) {
        Estimator estimator(catalog_model(id));
        Deployment d = deployment();
        d.placement.n_gpu_layers = 0;
        const std::uint64_t plain = weights_in_all(estimator.estimate(d));
        const bool tied = place(estimator.model(), {}, false).tied_output >= 0;
        const std::uint64_t copy = tied ? embedding_bytes(estimator.model()) : 0;
        for (const std::uint32_t n_devices : {1, 2, 4}) {
            for (const std::int64_t n : {1, 7, 16, 33}) {
                INFO(id << " -ngl " << n << ", devices " << n_devices);
                d.placement.n_devices = n_devices;
                d.placement.n_gpu_layers = n;
                const std::uint64_t sum = weights_in_all(estimator.estimate(d));
                CHECK(sum >= plain + copy);
                CHECK(sum <= plain + copy + 256 * (n_devices + 1)); // the rope factors, on every device with layers
            }
        }
    }
}

TEST_CASE("experts by -ot are those of --cpu-moe, to the byte", "[placement]") {
    for (const char* id : {"qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v2-lite"}) {
        for (const std::uint32_t n_devices : {1, 2}) {
            INFO(id << ", devices " << n_devices);
            Estimator estimator(catalog_model(id));
            Deployment d = deployment();
            d.placement.n_devices = n_devices;
            d.placement.n_cpu_moe = all_experts;
            const MemoryEstimate named = estimator.estimate(d);
            d.placement.n_cpu_moe = 0;
            d.placement.overrides = {{"exps", host_device}};
            const MemoryEstimate matched = estimator.estimate(d);
            for (std::uint32_t i = 0; i < n_devices; ++i) check_same(named.devices[i], matched.devices[i]);
            check_same(named.host, matched.host);
            CHECK(named.n_splits == matched.n_splits);
        }
    }
}

TEST_CASE("a device without a share holds nothing, and the other what it would hold alone", "[placement]") {
    for (const char* id : {"llama3.1-8b", "qwen3-30b-a3b"}) {
        INFO(id);
        Estimator estimator(catalog_model(id));
        Deployment d = deployment();
        const MemoryEstimate alone = estimator.estimate(d);
        d.placement.n_devices = 2;
        d.placement.tensor_split = {1, 0};
        const MemoryEstimate both = estimator.estimate(d);
        CHECK(both.devices[0].weights == alone.devices[0].weights);
        CHECK(both.devices[0].kv_cache == alone.devices[0].kv_cache);
        CHECK(both.devices[1].weights == 0);
        CHECK(both.devices[1].kv_cache == 0);
    }
}

TEST_CASE("without a split the main device is as if it were alone", "[placement]") {
    Estimator estimator(catalog_model("llama3.1-8b"));
    Deployment d = deployment();
    d.placement.n_gpu_layers = 20;
    const MemoryEstimate alone = estimator.estimate(d);
    d.placement.n_devices = 3;
    d.placement.split_mode = SplitMode::none;
    d.placement.main_device = 1;
    const MemoryEstimate none = estimator.estimate(d);
    REQUIRE(none.devices.size() == 3);
    check_same(none.devices[1], alone.devices[0]);
    check_same(none.host, alone.host);
    for (const std::size_t other : {0U, 2U}) CHECK(none.devices[other].sum() == 0);
    for (const CacheLayer& layer : none.caches.at(0).layers) CHECK((layer.device == 1 || layer.device == host_device));
    CHECK(none.compute_basis == Basis::exact);
}

TEST_CASE("rows are divided at whole tiles", "[placement]") {
    Tensor t;
    t.ne = {4096, 4096, 1, 1};
    t.n_dims = 2;
    // 0.3 of 4096 rows are 1228: 9 tiles of 128. A row of F16 has 8192 bytes.
    CHECK(split_rows(t, TensorType::f16, {0.3, 1.0}) ==
          std::vector<std::uint64_t>{std::uint64_t{1152} * 8192, std::uint64_t{2944} * 8192});
    // Every part of a quantized matrix with rows of 4000 has room for 96 more elements: 3 blocks of 34 bytes.
    t.ne[0] = 4000;
    CHECK(split_rows(t, TensorType::q8_0, {0.5, 1.0}) ==
          std::vector<std::uint64_t>{2048 * 4250 + 102, 2048 * 4250 + 102});
    CHECK(split_rows(t, TensorType::q8_0, {0.01, 1.0}).front() == 0); // 40 rows are no tile
    CHECK(splits_by_rows(t, "attn_q.weight"));
    CHECK_FALSE(splits_by_rows(t, "attn_q.bias"));
    CHECK_FALSE(splits_by_rows(t, "ssm_conv1d.weight"));
    CHECK_FALSE(splits_by_rows(t, "ffn_up_exps.weight"));
    t.section = TensorSection::input;
    CHECK_FALSE(splits_by_rows(t, "token_embd.weight"));
}

TEST_CASE("split by rows, the devices hold their shares, and everything is said to be modelled", "[placement]") {
    Estimator estimator(catalog_model("llama3.1-8b"));
    Deployment d = deployment();
    d.placement.n_devices = 2;
    d.placement.tensor_split = {1, 3};
    const MemoryEstimate layers = estimator.estimate(d);
    d.placement.split_mode = SplitMode::row;
    const MemoryEstimate rows = estimator.estimate(d);
    const std::uint64_t sum = layers.devices[0].weights + layers.devices[1].weights;
    const std::uint64_t rows_sum = rows.devices[0].weights + rows.devices[1].weights;
    CHECK(rows_sum <= sum + sum / 1000);
    CHECK(rows_sum + sum / 1000 >= sum);
    CHECK(rows.devices[0].weights >= sum / 4 - sum / 50); // tiles and norms apart a quarter
    CHECK(rows.devices[0].weights <= sum / 4 + sum / 50);
    CHECK(rows.devices[0].kv_cache == layers.devices[0].kv_cache); // caches follow their layer
    CHECK(rows.devices[1].compute < layers.devices[1].compute);    // one copy of what goes between devices, not four
    CHECK(rows.weights_basis == Basis::modelled);
    CHECK(rows.compute_basis == Basis::modelled);
    CHECK(rows.compute_error > 0);
    d.placement.n_devices = 1;
    d.placement.tensor_split.clear();
    CHECK(estimator.estimate(d).weights_basis == Basis::exact); // nothing to split
}
