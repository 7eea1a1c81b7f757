#include "ask.hpp"
#include "catch.hpp"
#include "support/near.hpp"
#include "vramfit/base/bytes.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

Request serve(std::string runtime, std::string model, std::uint64_t n_ctx, std::string gpu) {
    Request request;
    request.runtime = std::move(runtime);
    request.model = std::move(model);
    request.n_ctx = n_ctx;
    request.gpus = {std::move(gpu)};
    return request;
}

} // namespace

TEST_CASE("vLLM may use its share of what CUDA shows of the card") {
    // A 24GB card: 24576 MiB less 450 for the driver, 0.92 of that: 22195.92 MiB.
    const Answer a = answer(serve("vllm", "llama3.1-8b", 8192, "24GB"));
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.devices[0].available == 23274109010);                 // ceil(24126 x 1048576 x 0.92)
    CHECK(a.devices[0].memory.weights == 16060522496 + 33554432); // 8030261248 weights in 16 bits, and the rope table
    CHECK(a.devices[0].memory.kv_cache == 131072ULL * 8192);
    // 256 rows of 128256 logits at 38.4 bytes, and 2048 tokens of 4096 elements.
    CHECK(a.devices[0].memory.compute == 1260807783 + 16777216);
    CHECK(a.devices[0].overhead == (512 + 160) * mib);
    REQUIRE(a.serving);
    // What is left: 23274109010 - 16094076928 - 1277584999 - 704643072 = 5197804011 bytes: 2478 blocks of 2 MiB.
    CHECK(a.serving->kv_cache_tokens == 2478 * 16);
    CHECK(a.serving->max_concurrency == 2478.0 / 512);
    CHECK(a.settings.quant == "bf16");
    CHECK(a.settings.parallel == 256);
    CHECK(a.command == "vllm serve meta-llama/Llama-3.1-8B --max-model-len 8192");
}

TEST_CASE("vLLM refuses at the start, in its own words") {
    const Answer a = answer(serve("vllm", "llama3.1-8b", 131072, "24GB"));
    CHECK(a.verdict == Verdict::oom);
    REQUIRE(a.failure);
    CHECK(a.failure->when == "load");
    // 16 GiB for 131072 tokens; 5197804011 bytes are 4.84 GiB.
    CHECK(a.failure->message.find("max seq len (131072), (16.00 GiB KV cache is needed") != std::string::npos);
    CHECK(a.failure->message.find("available KV cache memory (4.84 GiB)") != std::string::npos);
    const Answer none = answer(serve("vllm", "llama3.1-8b", 4096, "16GB"));
    REQUIRE(none.failure);
    CHECK(none.failure->message.find("No available memory for the cache blocks") == 0);
    const Answer weights = answer(serve("vllm", "llama3.1-70b", 4096, "24GB"));
    REQUIRE(weights.failure);
    CHECK(weights.failure->message.find("torch.OutOfMemoryError") == 0);
}

TEST_CASE("vLLM does not start on a card that others use, and starts with a smaller share") {
    Request request = serve("vllm", "llama3.1-8b", 8192, "24GB");
    request.free = 20 * gib;
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::refused);
    REQUIRE(a.failure);
    CHECK(a.failure->message.find("Free memory on device cuda:0 (20.00/23.56 GiB)") == 0);
    const Suggestion* share = find_kind(a, "memory_share");
    REQUIRE(share != nullptr);
    CHECK(share->flags == std::vector<std::string>{"--gpu-memory-utilization", "0.84"}); // 20 / 23.56 = 0.849
    CHECK(answer(share->request).verdict == share->verdict);
}

TEST_CASE("advice for vLLM: what it has flags for, each confirmed") {
    const Answer a = answer(serve("vllm", "llama3.1-8b", 131072, "24GB"));
    for (const Suggestion& s : a.suggestions) {
        INFO(s.kind);
        const Answer again = answer(s.request);
        CHECK(again.verdict == s.verdict);
        CHECK(s.command.find("-ngl") == std::string::npos);
        for (const std::string& flag : s.flags) CHECK(s.command.find(flag) != std::string::npos);
    }
    CHECK(find_kind(a, "gpu_layers") == nullptr);
    CHECK(find_kind(a, "ubatch") == nullptr);
    REQUIRE(find_kind(a, "gpu") != nullptr);
    CHECK(find_kind(a, "gpu")->flags == std::vector<std::string>{"--tensor-parallel-size", "2"});
    REQUIRE(find_kind(a, "ctx") != nullptr);
    CHECK(find_kind(a, "ctx")->flags[0] == "--max-model-len");
}

TEST_CASE("heads that do not divide: layers do") {
    const Answer a = answer(serve("vllm", "llama3.1-8b", 8192, "3x24GB"));
    CHECK(a.verdict == Verdict::refused);
    const Suggestion* layers = find_kind(a, "split_mode");
    REQUIRE(layers != nullptr);
    CHECK(layers->flags == std::vector<std::string>{"--pipeline-parallel-size", "3"});
    CHECK(answer(layers->request).verdict == Verdict::fit);
}

TEST_CASE("SGLang's static share is what its reserve leaves") {
    // RTX 4090, 24564 MiB: 512 + 2048 x 1.5 + 24 x 2 + 128 = 3760 MiB; (24564 - 3760) / 24564 = 0.847.
    const Answer a = answer(serve("sglang", "llama3.1-8b", 8192, "24564MiB"));
    CHECK(a.verdict == Verdict::fit);
    // Free at the start: 24564 - 450 - 300 MiB; 0.153 of that is kept.
    const double before = (24564 - 750) * static_cast<double>(mib);
    CHECK(test::near(static_cast<double>(a.devices[0].memory.compute), 0.153 * before, (0.153 * before) * 0.001));
    REQUIRE(a.serving);
    // 0.847 of it less the weights, 128 KiB a token.
    CHECK(test::near(static_cast<double>(a.serving->kv_cache_tokens), (0.847 * before - 16094076928.0) / 131072,
                     ((0.847 * before - 16094076928.0) / 131072) * 0.001));
    const Answer too_long = answer(serve("sglang", "llama3.1-8b", 131072, "24564MiB"));
    REQUIRE(too_long.failure);
    CHECK(too_long.failure->when == "generation");
    CHECK(too_long.failure->at_tokens == too_long.serving->kv_cache_tokens);
}

TEST_CASE("transformers dies where the cache has grown too large") {
    const Answer a = answer(serve("transformers", "llama3.1-8b", 131072, "24GB"));
    CHECK(a.verdict == Verdict::oom);
    REQUIRE(a.failure);
    CHECK(a.failure->when == "generation");
    // 25769803776 - 750 MiB - 1.1 x 16060522496 = 7316796928 bytes of 131072 each: 55822 tokens, here in steps of 256.
    CHECK(a.failure->at_tokens == 55808);
    // A tenth of the weights, and the rows of one token: (3 x 14336 + 4 x 4096) x 2 bytes.
    CHECK(a.devices[0].memory.compute == 1606052250 + 118784);
    CHECK_FALSE(a.serving);
    CHECK(a.command.empty());
    // Trained for 40960 tokens or not: 28 layers, 8 heads of 128, K and V of 2 bytes are 112 KiB a token.
    const Answer longer = answer(serve("transformers", "qwen3-0.6b", 512000, "24GB"));
    const DeviceAnswer& card = longer.devices[0];
    const std::uint64_t cache_room = card.available - (card.required - card.memory.kv_cache);
    CHECK(longer.failure->at_tokens == cache_room / (112 * kib) / 256 * 256);
    Request small = serve("transformers", "llama3.1-8b", 8192, "12GB");
    CHECK(answer(small).failure->when == "load");
    small.quant = "bnb-nf4";
    CHECK(answer(small).verdict == Verdict::fit);
    CHECK(find_kind(answer(serve("transformers", "llama3.1-8b", 8192, "12GB")), "quant") != nullptr);
}

TEST_CASE("MLX: what does not fit is swapped") {
    // 8 GiB: Metal's working set is 5461 MiB.
    Request request = serve("mlx", "llama3.1-8b", 8192, "m1-8gb");
    request.quant = "mlx-4bit";
    const Answer a = answer(request);
    CHECK(a.devices[0].total == 5461 * mib);
    CHECK(a.devices[0].memory.weights == 4516872192 + 532480); // (6979321856 + 2 x 525336576) x 4.5 / 8, 65 x 4096 x 2
    CHECK(a.devices[0].memory.kv_cache == 131072ULL * 8192);
    CHECK(has_note(a, "swapped rather than refused"));
    // 5564 MiB and the margin of 1 GiB are less than nine tenths of 8 GiB.
    CHECK(has_note(a, "sudo sysctl iogpu.wired_limit_mb=65"));
    request.n_ctx = 131072;
    CHECK_FALSE(has_note(answer(request), "wired_limit"));
    CHECK(error_of(serve("mlx", "llama3.1-8b", 8192, "2x24GB")) == "mlx runs on one device; give one --gpu");
}

TEST_CASE("what an engine does not have is said") {
    Request request = serve("vllm", "llama3.1-8b", 8192, "24GB");
    request.n_cpu_moe = 3;
    CHECK(error_of(request) == "--n-cpu-moe is a setting of llama.cpp; vllm has none such");
    request = serve("vllm", "llama3.1-8b", 8192, "24GB");
    request.op_offload = false;
    CHECK(error_of(request) == "--no-op-offload is a setting of llama.cpp; vllm has none such");
    request = serve("llama.cpp", "llama3.1-8b", 8192, "24GB");
    request.quant = "q4_k_m";
    request.cuda_graphs = false;
    CHECK(error_of(request) == "--enforce-eager is a setting of vLLM and SGLang; llama.cpp has none such");
    request = serve("vllm", "llama3.1-8b", 8192, "24GB");
    request.quant = "q4_k_m";
    CHECK(error_of(request).find("\"q4_k_m\" is a file type of GGUF") == 0);
    request.quant = "mxfp4";
    CHECK(error_of(request) == "mxfp4 weights are those of experts, and \"llama3.1-8b\" has none");
    request.quant = "mlx-4bit";
    CHECK(error_of(request).find("vllm has no weights in mlx-4bit; bf16, fp8,") == 0);
    request.quant.reset();
    request.cache_dtype = "q8";
    CHECK(error_of(request) == "vllm has no KV cache of type \"q8\"; auto or fp8 would be right");
    Request llama = llama_8b(8192, "24GB");
    llama.cache_dtype = "fp8";
    CHECK(error_of(llama) == "llama.cpp has no KV cache of type \"fp8\"; --cache-type q8_0 would be like it");
    llama.cache_dtype.reset();
    llama.memory_share = 0.9;
    CHECK(error_of(llama) == "llama.cpp takes no share of a GPU: it takes what it needs");
}

TEST_CASE("an engine uses as many GPUs as it is told to") {
    Request request;
    request.model = "llama3.1-8b";
    request.runtime = "vllm";
    request.n_ctx = 131072;
    request.gpus = {"2x24GB"};
    CHECK(answer(request).devices.size() == 2);
    request.tensor_parallel = 1;
    const Answer one = answer(request);
    CHECK(one.devices.size() == 1);
    CHECK(has_note(one, "vLLM uses 1 of the 2 GPUs"));
    // 16 GiB of cache beside 15 of weights need both.
    CHECK(one.verdict == Verdict::oom);
    const Suggestion* all = find_kind(one, "gpu");
    REQUIRE(all != nullptr);
    CHECK(all->flags == std::vector<std::string>{"--tensor-parallel-size", "2"});
    CHECK(answer(all->request).verdict == all->verdict);
    request.tensor_parallel = 4;
    CHECK(error_of(request) == "vLLM is to run on 4 GPUs, and 2 are given");
    Request llama = llama_8b(8192, "2x24GB");
    llama.tensor_parallel = 2;
    CHECK(error_of(llama) == "llama.cpp has no ranks; --split-mode row or layer would be like them");
}

TEST_CASE("without CUDA graphs vLLM needs what they take no more") {
    Request request;
    request.model = "llama3.1-8b";
    request.runtime = "vllm";
    request.n_ctx = 8192;
    request.gpus = {"24GB"};
    const std::uint64_t with_graphs = answer(request).devices.front().required;
    request.cuda_graphs = false;
    CHECK(with_graphs - answer(request).devices.front().required == 512 * mib); // data/runtimes.json, graphs
}

TEST_CASE("vLLM refuses more context than the model was trained for, the others do not") {
    Request request;
    request.model = "llama3.1-8b";
    request.runtime = "vllm";
    request.n_ctx = 262144;
    request.gpus = {"80GB"};
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::refused);
    REQUIRE(a.failure);
    CHECK(a.failure->message.starts_with("User-specified max_model_len (262144) is greater than the derived"));
    const Suggestion* trained = find_kind(a, "ctx");
    REQUIRE(trained != nullptr);
    CHECK(trained->flags == std::vector<std::string>{"--max-model-len", "131072"});
    CHECK(trained->verdict == Verdict::fit);
    request.runtime = "sglang";
    CHECK(answer(request).verdict != Verdict::refused);
}
