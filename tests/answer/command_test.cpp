#include "ask.hpp"

#include "catch.hpp"

#include <limits>

using namespace vramfit;
using namespace vramfit::test;

TEST_CASE("the command says what was said, and the context") {
    CHECK(answer(llama_8b(32768, "24GB")).command == "llama-server -m MODEL.gguf -c 32768 -ngl 99");
    Request request = llama_8b(8192, "24GB");
    request.n_gpu_layers = 20;
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::on;
    request.parallel = 2;
    request.kv_unified = true;
    request.n_batch = 1024;
    request.n_ubatch = 256;
    request.op_offload = false;
    request.kv_offload = false;
    request.swa_full = true;
    CHECK(answer(request).command == "llama-server -m MODEL.gguf -c 8192 -ngl 20 -ctk q8_0 -ctv q8_0 -fa on -np 2 -kvu "
                                     "-b 1024 -ub 256 --no-op-offload --no-kv-offload --swa-full");
    request = llama_8b(8192, "24GB");
    request.runtime = "llama-cli";
    request.gpus.push_back("12GB");
    request.tensor_split = {2, 1.5};
    request.n_cpu_moe = std::numeric_limits<std::uint32_t>::max();
    CHECK(answer(request).command == "llama-cli -m MODEL.gguf -c 8192 -ngl 99 -ts 2,1.5 --cpu-moe");
    request.n_cpu_moe = 0;
    request.split_mode = SplitMode::layer;
    request.main_gpu = 1;
    request.override_tensors = {"ffn_up=CPU,ffn_down=CUDA1", "blk\\.(1|2)\\.=CUDA0", "it's=CPU"};
    CHECK(answer(request).command == "llama-cli -m MODEL.gguf -c 8192 -ngl 99 -ts 2,1.5 -sm layer -mg 1 "
                                     "-ot ffn_up=CPU,ffn_down=CUDA1 -ot 'blk\\.(1|2)\\.=CUDA0' -ot 'it'\\''s=CPU'");
}

TEST_CASE("99 layers are not all of a model that has more") {
    // 126 blocks and the output.
    CHECK(answer(question("llama3.1-405b", "q4_k_m", 4096, "400GB")).command ==
          "llama-server -m MODEL.gguf -c 4096 -ngl 999");
}

TEST_CASE("MTP is asked for in the command, and in that of every suggestion") {
    Request request = question("qwen3.6-27b+mtp", "q4_k_m", 32768, "48GB");
    request.mtp = true;
    CHECK(answer(request).command == "llama-server -m MODEL.gguf -c 32768 -ngl 99 --spec-type draft-mtp");
    request.gpus = {"16GB"};
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::oom);
    REQUIRE_FALSE(a.suggestions.empty());
    for (const Suggestion& s : a.suggestions)
        CHECK(s.command.ends_with(" --spec-type draft-mtp") == s.request.mtp); // one leaves it out
}

TEST_CASE("MTP without an MTP block is an error that names the variant that has one") {
    Request request = llama_8b(8192, "24GB");
    request.mtp = true;
    CHECK(error_of(request) == "llama3.1-8b has no MTP block; leave --mtp out");
    request.model = "qwen3.6-27b";
    CHECK(error_of(request) ==
          "qwen3.6-27b has no MTP block; leave --mtp out, or ask for qwen3.6-27b+mtp, whose file has one");
}

TEST_CASE("KoboldCpp takes a split as several words") {
    Request request = test::question("llama3.1-8b", "q4_k_m", 8192, "24GB");
    request.gpus.push_back("24GB");
    request.runtime = "koboldcpp";
    request.tensor_split = {3, 1};
    const Answer found = answer(request);
    CHECK(found.command.ends_with(" --tensor_split 3 1"));
    CHECK(found.command.find("tensor_split 3,1") == std::string::npos);
}
