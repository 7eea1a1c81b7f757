// The contexts that draft: of a draft model, and of a model's own MTP block.

#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/draft.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/catalog.hpp"

#include <cmath>

namespace vramfit {
namespace {

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

/// As llama-server runs a model with MTP: `slots` on one cache, 1 + 3 rows of logits each.
Deployment served(std::uint64_t n_ctx, std::uint64_t slots = 4) {
    Deployment d;
    d.settings.n_ctx = n_ctx;
    d.settings.n_seq_max = slots;
    d.settings.kv_unified = true;
    d.settings.n_outputs_max = slots * 4;
    d.settings.mtp = true;
    return d;
}

MtpContext mtp_of(Estimator& estimator, const Deployment& d) {
    return mtp_context(estimator, d, estimator.estimate(d), TensorType::f16, TensorType::f16);
}

} // namespace

TEST_CASE("an MTP block's context is what llama-server says of it", "[draft]") {
    // "[spec] estimated memory usage of MTP context is 162.02 MiB": Qwen3.8-27B at 8192, everything else as it is.
    // 4 KiB a token of cache, the rest compute buffer.
    Estimator qwen(catalog_model("qwen3.8-27b+mtp"));
    const MtpContext m = mtp_of(qwen, served(8192));
    CHECK(m.kv_cache == 8192ULL * 4 * kib);
    CHECK(m.kv_basis == Basis::exact);
    CHECK(std::abs(mebibytes(m.kv_cache + m.compute) - 162.02) < 0.1);
    CHECK(m.device == 0);

    // ... 56.02 MiB: Qwen3.5-2B at 4096 with one slot; 2 KiB a token.
    Estimator small(catalog_model("qwen3.5-2b+mtp"));
    const MtpContext s = mtp_of(small, served(4096, 1));
    CHECK(s.kv_cache == 4096ULL * 2 * kib);
    CHECK(std::abs(mebibytes(s.kv_cache + s.compute) - 56.02) < 7);
}

TEST_CASE("over two GPUs an MTP block's context lies on the last, with the copies of a pipeline", "[draft]") {
    // Qwen3.6-27B at 524288 with -ub 1024: "KV buffer size = 2048.00 MiB", "compute buffer size = 4500.13 MiB", both
    // on CUDA1, after the target's own 6360.13 MiB on each.
    Estimator qwen(catalog_model("qwen3.6-27b+mtp"));
    Deployment d = served(524288);
    d.settings.n_ubatch = 1024;
    d.placement.n_devices = 2;
    const MtpContext m = mtp_of(qwen, d);
    CHECK(m.device == 1);
    CHECK(m.kv_cache == 2048 * mib);
    CHECK(std::abs(mebibytes(m.compute) - 4500.13) < 0.5);
}

TEST_CASE("an MTP block lies with the output layer, on the host too", "[draft]") {
    Estimator qwen(catalog_model("qwen3.5-4b+mtp"));
    Deployment d = served(8192);
    d.placement.n_gpu_layers = 0;
    CHECK(mtp_of(qwen, d).device == host_device);
}

TEST_CASE("architectures that cache the MTP block with the others cache all of them twice", "[draft]") {
    // llama.cpp issue 28626: GLM-4.5-Air has 46 layers and the block, 4 KiB of f16 cache a layer and token.
    Estimator glm(catalog_model("glm-4.5-air"));
    const MtpContext m = mtp_of(glm, served(8192));
    CHECK(m.kv_cache == 8192ULL * 47 * 4 * kib);
    CHECK(m.kv_basis == Basis::modelled);
}

TEST_CASE("a model that drafts with its MTP block keeps its recurrent state once more for each token", "[draft]") {
    // "RS buffer size = 188.44 MiB ... 1 seqs 2 rs_seq": Qwen3.6-35B-A3B; without, 62.81 MiB.
    Estimator qwen(catalog_model("qwen3.6-35b-a3b+mtp"));
    MemoryEstimate e = qwen.estimate(served(65536, 1));
    CHECK(std::abs(mebibytes(e.devices[0].recurrent_state) - 62.81) < 0.01);
    add_rollback(e, 2);
    CHECK(std::abs(mebibytes(e.devices[0].recurrent_state) - 188.44) < 0.01);
    CHECK(e.compute_basis == Basis::modelled);

    CHECK(rollback_copies(qwen.model(), 3) == 3);
    CHECK(rollback_copies(catalog_model("glm-4.5-air"), 3) == 0);
    CHECK(rollback_copies(catalog_model("qwen3-next-80b-a3b"), 3) == 0);
}

TEST_CASE("a draft model's context has the target's cells and its own cache types", "[draft]") {
    // 28 layers of 8 x 128 wide keys and values: 112 KiB a token in f16 (ik_llama.cpp issue 731).
    Estimator target(catalog_model("qwen3-32b"));
    Deployment d;
    d.settings.n_ctx = 50000;
    d.settings.type_k = d.settings.type_v = TensorType::q8_0;
    d.placement.n_cpu_moe = 3;
    const ContextPlan context = target.estimate(d).context;
    Estimator draft(catalog_model("qwen3-0.6b"));
    const Deployment own = draft_deployment(d, context, TensorType::f16, TensorType::f16);
    CHECK(draft.estimate(own).devices[0].kv_cache == 50176ULL * 112 * kib); // cells come in multiples of 256
    CHECK(own.settings.n_outputs_max == 1);
    CHECK(own.placement.n_cpu_moe == 0);
}

} // namespace vramfit
