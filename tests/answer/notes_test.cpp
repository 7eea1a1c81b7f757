#include "ask.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

TEST_CASE("an ordinary fit needs no notes") { CHECK(answer(llama_8b(8192, "24GB")).notes.empty()); }

TEST_CASE("layers and experts on the CPU are mentioned") {
    Request request = llama_8b(8192, "24GB");
    request.n_gpu_layers = 20;
    CHECK(has_note(answer(request), "20 of 33 layers on the GPU"));
    request = llama_8b(8192, "24GB");
    request.n_cpu_moe = 4;
    CHECK(has_note(answer(request), "no experts"));
}

TEST_CASE("a file type that needs an importance matrix says so") {
    CHECK(has_note(answer(question("llama3.1-8b", "iq2_xs", 8192, "24GB")), "IQ2_XS files of this model need"));
}

TEST_CASE("shared slots that were asked for are mentioned") {
    Request request = llama_8b(8192, "24GB");
    request.parallel = 2;
    request.kv_unified = true;
    CHECK(has_note(answer(request), "2 slots share one cache of 8192 tokens"));
}

TEST_CASE("flash attention that auto turns off is mentioned") {
    // No CUDA kernel of the default build has an f16 V beside a q8_0 K.
    Request request = llama_8b(8192, "24GB");
    request.type_k = TensorType::q8_0;
    CHECK(has_note(answer(request), "flash attention is off"));
}

TEST_CASE("a device's own note is passed on, once") {
    Request request = llama_8b(8192, "m3-max-64gb");
    request.gpus.push_back("m3-max-64gb");
    const Answer a = answer(request);
    CHECK(std::ranges::count_if(a.notes, [](const std::string& n) { return n.starts_with("m3-max-64gb: "); }) <= 1);
}

TEST_CASE("more context than trained: what it means is the model's") {
    CHECK(has_note(answer(llama_8b(262144, "80GB")), "quality suffers beyond it"));
    CHECK_FALSE(has_note(answer(question("mamba-2.8b", "q8_0", 65536, "24GB")), "trained for"));
    CHECK(has_note(answer(question("bge-large-en-v1.5", "f16", 8192, "24GB")), "it has no positions beyond it"));
}

TEST_CASE("a pattern of an override that matches nothing is noted", "[overrides]") {
    Request request = llama_8b(8192, "24GB");
    request.override_tensors = {"ffn_up=CPU,exps=CPU"};
    const Answer answered = answer(request);
    CHECK(has_note(answered, "the pattern \"exps\" matches no tensor of llama3.1-8b"));
    CHECK_FALSE(has_note(answered, "ffn_up"));
}

TEST_CASE("GPUs that a split leaves out are mentioned, and need no headroom", "[overrides]") {
    Request request = llama_8b(8192, "24GB");
    request.gpus.push_back("1GB"); // 750 MiB for driver and context leave less than the margin
    request.split_mode = SplitMode::none;
    const Answer none = answer(request);
    CHECK(none.verdict == Verdict::fit);
    CHECK(none.devices[1].memory.sum() == 0);
    CHECK(has_note(none, "without a split GPU 1 holds nothing but the context"));
    request.gpus.back() = "24GB";
    request.split_mode = SplitMode::row;
    CHECK(has_note(answer(request), "split by rows, weights and compute buffers are approximate"));
    request.split_mode = SplitMode::layer;
    request.main_gpu = 1;
    CHECK(has_note(answer(request), "a main GPU matters only where nothing is split"));
    request.split_mode = SplitMode::none;
    request.main_gpu = 2;
    CHECK(error_of(request) == "the main device is 2, but there are 2, counted from 0");
}

TEST_CASE("cache types without a kernel put attention on the CPU, and a note says so") {
    Request request = llama_8b(8192, "24GB");
    request.type_k = request.type_v = TensorType::iq4_nl;
    CHECK(has_note(answer(request), "attention runs on the CPU"));
    request.type_k = request.type_v = TensorType::q8_0;
    CHECK_FALSE(has_note(answer(request), "attention runs on the CPU"));
}

TEST_CASE("a context that is no multiple of 256 is rounded up, and a note says to what") {
    CHECK(has_note(answer(llama_8b(257, "24GB")), "rounds the context up to 512, a multiple of 256"));
    CHECK_FALSE(has_note(answer(llama_8b(8192, "24GB")), "rounds"));
}

TEST_CASE("a model that makes embeddings: what the server must be told") {
    Request request = question("bge-m3", "f16", 8192, "24GB");
    CHECK(has_note(answer(request), "to serve embeddings add --embeddings"));
    request.embeddings = true;
    CHECK_FALSE(has_note(answer(request), "to serve embeddings"));
    CHECK_FALSE(has_note(answer(llama_8b(8192, "24GB")), "embeddings"));
}
