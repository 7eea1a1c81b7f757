#include "ask.hpp"

#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

#include <limits>

using namespace vramfit;
using namespace vramfit::test;

namespace {

Answer on_bytes(Request request, std::uint64_t bytes) {
    request.gpus = {std::to_string(bytes) + "B"};
    return answer(request);
}

} // namespace

TEST_CASE("Llama 3.1 8B at 8192 as measured: weights, cache, compute, and what the card loses") {
    const Answer a = answer(llama_8b(8192, "24GB"));
    REQUIRE(a.devices.size() == 1);
    const DeviceAnswer& device = a.devices[0];
    CHECK(format_exact_mib(device.memory.weights) == "4403.49 MiB");
    CHECK(device.memory.kv_cache == gib);
    CHECK(device.memory.recurrent_state == 0);
    CHECK(format_exact_mib(device.memory.compute) == "116.01 MiB");
    CHECK(device.overhead == 750 * mib);
    CHECK(device.total == 24 * gib);
    CHECK(device.available == 24 * gib);
    CHECK(device.required == device.memory.sum() + device.overhead);
    CHECK(device.headroom == static_cast<std::int64_t>(24 * gib - device.required));
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.kv_bytes_per_token == 128 * kib);
    CHECK(a.failure == std::nullopt);
    CHECK(a.suggestions.empty());
    CHECK(a.overhead == 750 * mib);
    CHECK(a.model.parameters == 8030261312);
    CHECK(a.model.tensor_bytes == 4912898304);
    CHECK(a.model.block_count == 32);
}

TEST_CASE("llama-cli reserves logits for a whole ubatch") {
    Request request = llama_8b(8192, "24GB");
    request.runtime = "llama-cli";
    const Answer a = answer(request);
    CHECK(format_exact_mib(a.devices[0].memory.compute) == "258.50 MiB");
    CHECK(a.settings.parallel == 1);
    CHECK(a.settings.n_outputs == 512);
    CHECK(a.settings.runtime == "llama-cli");
}

TEST_CASE("the settings in effect are llama-server's") {
    const EffectiveSettings s = answer(llama_8b(8000, "24GB")).settings;
    CHECK(s.runtime == "llama.cpp");
    CHECK(s.quant == "Q4_K_M");
    CHECK(s.n_ctx == 8192); // padded to 256 cells
    CHECK(s.n_ctx_per_seq == 8192);
    CHECK(s.parallel == 4);
    CHECK(s.kv_unified);
    CHECK(s.n_batch == 2048);
    CHECK(s.n_ubatch == 512);
    CHECK(s.flash_attn);
    CHECK(s.n_outputs == 4);
    CHECK(s.gpu_layers == 33);
}

TEST_CASE("slots that are asked for divide the context") {
    Request request = llama_8b(32768, "24GB");
    request.parallel = 8;
    const Answer a = answer(request);
    CHECK(a.settings.n_ctx_per_seq == 4096);
    CHECK_FALSE(a.settings.kv_unified);
    CHECK(a.settings.n_outputs == 8);
    CHECK(a.devices[0].memory.kv_cache == 4 * gib);
    CHECK(has_note(a, "8 slots divide the context: 4096 tokens each"));
}

TEST_CASE("the verdict turns at a byte") {
    const Request request = llama_8b(8192, "24GB");
    const std::uint64_t required = answer(request).devices[0].required;
    CHECK(on_bytes(request, required + gib).verdict == Verdict::fit);
    CHECK(on_bytes(request, required + gib - 1).verdict == Verdict::tight);
    CHECK(on_bytes(request, required).verdict == Verdict::tight);
    CHECK(on_bytes(request, required - 1).verdict == Verdict::oom);
    CHECK(on_bytes(request, required - 1).devices[0].headroom == -1);
}

TEST_CASE("a smaller margin counts until the overhead's range is larger") {
    Request request = llama_8b(8192, "24GB");
    const std::uint64_t required = answer(request).devices[0].required;
    // Driver 450 (up to 500) and context 300 (up to 550): 300 MiB more were seen.
    request.margin = 0;
    CHECK(on_bytes(request, required + 300 * mib).verdict == Verdict::fit);
    CHECK(on_bytes(request, required + 300 * mib - 1).verdict == Verdict::tight);
    request.margin = 2 * gib;
    CHECK(on_bytes(request, required + 2 * gib - 1).verdict == Verdict::tight);
}

TEST_CASE("free memory replaces the total, and only the process takes more") {
    Request request = llama_8b(8192, "24GB");
    request.free = 6000 * mib;
    const Answer a = answer(request);
    CHECK(a.devices[0].total == 24 * gib);
    CHECK(a.devices[0].available == 6000 * mib);
    CHECK(a.devices[0].overhead == 300 * mib);
    CHECK(a.verdict == Verdict::tight); // 4403.49 + 1024 + 116.01 + 300 = 5843.50 MiB
    request.reserve = 200 * mib;
    CHECK(answer(request).devices[0].available == 5800 * mib);
    CHECK(answer(request).verdict == Verdict::oom);
    request.free = 25 * gib;
    CHECK(error_of(request) == "free memory of 25.0 GiB is more than the 24.0 GiB of 24GB");
    request.free = 24 * gib + 3 * mib;
    CHECK(error_of(request) == "free memory of 24579 MiB is more than the 24576 MiB of 24GB");
    request.free = 24 * gib + 1;
    CHECK(error_of(request) == "free memory of 25769803777 bytes is more than the 25769803776 bytes of 24GB");
}

TEST_CASE("layers are split by the memory that is free") {
    // 24564 - 354 - 300 and 12288 - 450 - 300 MiB: 67.45 % of 81 items are 55 blocks for the first card, and the
    // other 25 and the output for the second. A block has 65536 x 4096 bytes of cache.
    Request request = question("llama3.3-70b", "q4_k_m", 65536, "rtx4090");
    request.gpus.push_back("12GB");
    const Answer a = answer(request);
    REQUIRE(a.devices.size() == 2);
    CHECK(a.devices[0].memory.kv_cache == 55 * 256 * mib);
    CHECK(a.devices[1].memory.kv_cache == 25 * 256 * mib);
    request.tensor_split = {1, 1}; // 41 and 40 items
    CHECK(answer(request).devices[0].memory.kv_cache == 41 * 256 * mib);
}

TEST_CASE("the worst device decides") {
    Request request = question("llama3.3-70b", "q4_k_m", 8192, "48GB");
    request.gpus.push_back("12GB");
    request.tensor_split = {1, 1};
    const Answer a = answer(request);
    CHECK(a.devices[0].verdict == Verdict::fit);
    CHECK(a.devices[1].verdict == Verdict::oom);
    CHECK(a.verdict == Verdict::oom);
}

TEST_CASE("a quantized V cache without flash attention is refused") {
    Request request = llama_8b(8192, "24GB");
    request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::refused);
    REQUIRE(a.failure);
    CHECK(a.failure->when == "load");
    CHECK(a.failure->message == "quantized V cache requires flash_attn to be enabled");
    CHECK(a.max_ctx.fit == 0);
    CHECK(a.max_ctx.limited_by == ContextLimit::setting);
}

TEST_CASE("other backends than CUDA have a modelled compute buffer") {
    const Answer a = answer(llama_8b(8192, "m3-max-64gb"));
    CHECK(a.compute_basis == Basis::modelled);
    CHECK(a.compute_error > 0);
    CHECK(has_note(a, "modelled"));
    CHECK(answer(llama_8b(8192, "rtx4090")).compute_basis == Basis::exact);
}

TEST_CASE("what cannot be answered is one line") {
    Request request = llama_8b(8192, "24GB");
    request.quant.reset();
    CHECK(error_of(request) == "no quantization is given for llama3.1-8b; give a file type such as q4_k_m");
    request = llama_8b(8192, "24GB");
    request.gpus.clear();
    CHECK(error_of(request) == "no GPU is given; give its memory, such as 24GB, or its name, such as rtx4090");
    request = llama_8b(8192, "24GB");
    request.type_k = TensorType::q4_k;
    CHECK(error_of(request) == "llama.cpp has no KV cache of type q4_K; f32, f16, bf16, q8_0, q4_0, q4_1, "
                               "iq4_nl, q5_0 or q5_1 would be right");
    request = question("llama3.1-8b", "iq2_xs", 8192, "24GB");
    request.imatrix = false;
    CHECK(error_of(request).find("IQ2_XS needs an importance matrix") == 0);
}

TEST_CASE("more GPUs than a deployment may have are refused, however they are given") {
    Request request = llama_8b(8192, "40x24GB");
    request.gpus.push_back("30x24GB");
    CHECK(error_of(request) == "70 GPUs are too many; give at most 64");
}

TEST_CASE("a margin beyond counting makes every fit tight, and nothing overflows") {
    Request request = llama_8b(8192, "24GB");
    request.margin = std::numeric_limits<std::uint64_t>::max();
    CHECK(answer(request).verdict == Verdict::tight);
}
