// What is loaded beside a model: projector, draft model, MTP block; and the verdict on the computer's own memory.

#include "catch.hpp"

#include "answer/ask.hpp"
#include "vramfit/base/bytes.hpp"

#include <cmath>

namespace vramfit {
namespace {

using test::error_of;
using test::find_kind;
using test::has_note;
using test::llama_8b;
using test::question;

Request with_draft(std::uint64_t n_ctx, std::string gpu) {
    Request request = llama_8b(n_ctx, std::move(gpu));
    request.draft = DraftRequest{"llama3.2-1b", "q8_0", {}, {}, {}};
    return request;
}

} // namespace

TEST_CASE("a draft model counts with weights, cache and compute buffer", "[companions]") {
    const Answer alone = answer(llama_8b(8192, "24GB"));
    const Answer both = answer(with_draft(8192, "24GB"));
    REQUIRE(both.draft);
    CHECK(both.draft->model == "llama3.2-1b");
    CHECK(both.draft->quant == "Q8_0");
    // 16 layers of 8 x 64 wide keys and values in f16: 32 KiB a token, 256 MiB at 8192.
    CHECK(both.draft->kv_cache == 256 * mib);
    const DeviceAnswer& device = both.devices.front();
    CHECK(device.memory.draft > both.draft->kv_cache);
    CHECK(device.memory.draft + both.host.draft == both.draft->weights + both.draft->kv_cache + both.draft->compute +
                                                       both.draft->recurrent_state + both.draft->output);
    // Speculation reserves logits for four tokens a slot instead of one, which do not widen this graph.
    CHECK(both.settings.n_outputs == 16);
    CHECK(device.required - alone.devices.front().required == device.memory.draft);
    CHECK(both.command == "llama-server -m MODEL.gguf -c 8192 -ngl 99 -md DRAFT.gguf");
}

TEST_CASE("a draft model of a model that is run alone takes what it takes itself", "[companions]") {
    const Answer both = answer(with_draft(8192, "24GB"));
    const Answer draft = answer(question("llama3.2-1b", "q8_0", 8192, "24GB"));
    CHECK(both.devices.front().memory.draft == draft.devices.front().memory.sum());
    CHECK(both.host.draft == draft.host.total());
}

TEST_CASE("a draft model on the CPU takes nothing of the GPU but its copies", "[companions]") {
    Request request = with_draft(8192, "24GB");
    request.draft->n_gpu_layers = 0;
    const Answer on_cpu = answer(request);
    CHECK(on_cpu.host.draft > gib);
    CHECK(on_cpu.draft->kv_cache == 256 * mib);
    CHECK(on_cpu.command.find("-md DRAFT.gguf -ngld 0") != std::string::npos);
}

TEST_CASE("a draft that does not fit is made smaller, or left out", "[companions]") {
    // 4403 weights + 6144 cache at 48K + ... and the draft's 1536 MiB of cache.
    Request request = with_draft(49152, "13GB");
    request.margin = 0;
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* advice = find_kind(a, "draft");
    REQUIRE(advice != nullptr);
    CHECK(advice->verdict != Verdict::oom);
    CHECK(answer(advice->request).verdict == advice->verdict);
}

TEST_CASE("a draft model with another vocabulary is pointed out", "[companions]") {
    Request request = llama_8b(8192, "24GB");
    request.draft = DraftRequest{"qwen3-0.6b", "q8_0", {}, {}, {}};
    CHECK(has_note(answer(request),
                   "qwen3-0.6b cannot draft for llama3.1-8b: its vocabulary has 151936 tokens, not 128256"));
    request.draft->model = "llama3.1-8";
    CHECK(error_of(request).find("llama3.1-8b") != std::string::npos);
}

TEST_CASE("a draft that llama.cpp refuses refuses the whole", "[companions]") {
    Request request = with_draft(8192, "24GB");
    request.flash_attn = FlashAttention::off;
    request.draft->type_v = TensorType::q8_0;
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::refused);
    REQUIRE(a.failure);
    CHECK(a.failure->message.starts_with("the draft model: "));
}

TEST_CASE("the projector of a vision model lies on the first GPU", "[companions]") {
    Request request = question("gemma3-12b", "q4_k_m", 8192, "2x24GB");
    const Answer alone = answer(request);
    request.projector = "auto";
    const Answer seeing = answer(request);
    REQUIRE(seeing.projector);
    CHECK(seeing.projector->type == "gemma3");
    CHECK(seeing.devices[0].memory.projector == seeing.projector->weights + seeing.projector->compute);
    CHECK(seeing.devices[1].memory.projector == 0);
    CHECK(seeing.devices[0].error - alone.devices[0].error == seeing.projector->error);
    // Ollama's log says 795.9 MiB of weights; the pixels on the host are 896 x 896 in three floats, and positions.
    CHECK(std::abs(static_cast<double>(seeing.projector->weights) / mib - 812) < 8); // 811.8: the published F16 file
    CHECK(seeing.host.projector == 4096ULL * 4 * (14 * 14 * 3 + 4));
    CHECK(has_note(seeing, "weights are those of a typical F16 file"));

    request.projector_offload = false;
    const Answer on_cpu = answer(request);
    CHECK(on_cpu.devices[0].memory.projector == 0);
    CHECK(on_cpu.host.projector > seeing.projector->weights);
    CHECK(on_cpu.command.find("--mmproj MMPROJ.gguf --no-mmproj-offload") != std::string::npos);
}

TEST_CASE("a projector that does not fit goes to the CPU", "[companions]") {
    Request request = question("gemma3-12b", "q4_k_m", 8192, "10GB");
    request.margin = 0;
    request.projector = "gemma3-12b";
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* advice = find_kind(a, "mmproj");
    REQUIRE(advice != nullptr);
    CHECK(advice->flags == std::vector<std::string>{"--no-mmproj-offload"});
    CHECK(answer(advice->request).verdict == advice->verdict);
}

TEST_CASE("a projector that nobody knows, and files that are none, are errors", "[companions]") {
    Request request = llama_8b(8192, "24GB");
    request.projector = "auto";
    CHECK(error_of(request) == "no projector of llama3.1-8b is known; give its file (mmproj-....gguf)");
    request.projector = "no-such-folder/mmproj.gguf";
    CHECK(error_of(request).find("no-such-folder/mmproj.gguf") != std::string::npos);
    request.projector.reset();
    request.adapters = {"no-such-folder/adapter.gguf"};
    CHECK(error_of(request).find("no-such-folder/adapter.gguf") != std::string::npos);
}

TEST_CASE("an MTP block that drafts has a context of its own", "[companions]") {
    Request request = question("qwen3.8-27b+mtp", "q4_k_m", 8192, "48GB");
    const Answer without = answer(request);
    request.mtp = true;
    const Answer drafting = answer(request);
    REQUIRE(drafting.draft);
    CHECK(drafting.draft->mtp);
    CHECK(drafting.draft->weights == 0);
    CHECK(drafting.draft->kv_cache == 32 * mib);
    // 149.62 MiB of state a slot; three copies more to take tokens back.
    CHECK(drafting.devices[0].memory.recurrent_state == 4 * without.devices[0].memory.recurrent_state);
    // "[spec] estimated memory usage of MTP context is 162.02 MiB", as llama-server logs it
    CHECK(std::abs(static_cast<double>(drafting.devices[0].memory.draft) / mib - 162.02) < 0.1);
    CHECK(has_note(drafting, "the MTP block drafts in a context of its own"));
    request.runtime = "llama-cli"; // does not draft here
    CHECK_FALSE(answer(request).draft);
}

TEST_CASE("without a split the MTP block drafts on the main GPU, as on one alone", "[companions]") {
    Request request = question("qwen3.8-27b+mtp", "q4_k_m", 8192, "48GB");
    request.mtp = true;
    const std::uint64_t alone = answer(request).devices[0].memory.draft;
    request.gpus = {"2x48GB"};
    request.split_mode = SplitMode::none;
    request.main_gpu = 1;
    const Answer a = answer(request);
    CHECK(a.devices[0].memory.sum() == 0);
    CHECK(a.devices[1].memory.draft == alone);
}

TEST_CASE("the computer's memory gets a verdict where it is known", "[companions]") {
    Request request = llama_8b(8192, "24GB");
    CHECK_FALSE(answer(request).ram);
    request.ram = 16 * gib;
    const Answer a = answer(request);
    REQUIRE(a.ram);
    // 281.81 MiB of token embeddings; compute and output buffers.
    CHECK(a.ram->required == a.host.total());
    CHECK(std::abs(static_cast<double>(a.host.weights) / mib - 281.81) < 0.01);
    CHECK(a.ram->headroom == static_cast<std::int64_t>(16 * gib - a.host.total()));
    CHECK(a.ram->verdict == Verdict::fit);
    CHECK(a.growth.prompt_cache == 8 * gib); // common/common.h, cache_ram_mib
    CHECK(a.growth.checkpoints == 0);        // neither window nor recurrent state
    CHECK(has_note(a, "llama-server may take 8.0 GiB more of RAM as it is used"));
}

TEST_CASE("the worst of devices and computer counts", "[companions]") {
    Request request = question("llama3.3-70b", "q4_k_m", 8192, "24GB");
    request.n_gpu_layers = 20;
    request.ram = 16 * gib; // 60 of 80 layers of 40 GiB lie there
    const Answer a = answer(request);
    CHECK(a.devices[0].verdict == Verdict::fit);
    REQUIRE(a.ram);
    CHECK(a.ram->verdict == Verdict::oom);
    CHECK(a.verdict == Verdict::oom);
    REQUIRE(a.failure);
    CHECK(a.failure->message.find("swaps") != std::string::npos);
    CHECK(has_note(a, "of memory, or a smaller model, is needed") == a.suggestions.empty());
    request.ram = 27 * gib; // what the GPU has room for is enough
    const Answer more = answer(request);
    REQUIRE(more.verdict == Verdict::oom);
    const Suggestion* advice = find_kind(more, "gpu_layers");
    REQUIRE(advice != nullptr);
    CHECK(*test::set_value<std::uint64_t>(*advice, "gpu_layers") > 20);
    CHECK(answer(advice->request).verdict == advice->verdict);
    request.ram = 64 * gib;
    CHECK(answer(request).verdict == Verdict::fit);
}

TEST_CASE("states to go back to are counted for sliding windows", "[companions]") {
    // Gemma 3 12B: 40 layers with a window of 1024, 8 x 256 wide keys and values in f16: 320 KiB a token. A state has up
    // to 1024 + 512 of them, and of 32768 tokens there are 32768 / 8192 states, and one more for each of the four slots.
    Request request = question("gemma3-12b", "q4_k_m", 32768, "24GB");
    request.ram = 64 * gib;
    CHECK(answer(request).growth.checkpoints == 8ULL * 1536 * 320 * kib);
    request.swa_full = true;
    CHECK(answer(request).growth.checkpoints == 0);
    request.runtime = "llama-cli";
    CHECK(answer(request).growth.sum() == 0);
}

TEST_CASE("a device without memory of its own shares the computer's", "[companions]") {
    Request request = llama_8b(8192, "m3-max-64gb");
    request.ram = 64 * gib;
    const Answer a = answer(request);
    REQUIRE(a.ram);
    CHECK(a.ram->shared == a.devices[0].memory.sum());
    CHECK(a.ram->required == a.host.total() + a.ram->shared);
    CHECK(has_note(a, "has no memory of its own"));
}

} // namespace vramfit
