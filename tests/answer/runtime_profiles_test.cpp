#include "ask.hpp"

#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

Request with_runtime(Request request, const char* runtime) {
    request.runtime = runtime;
    return request;
}

/// Without a context: what does the runtime take?
Request without_context(std::string model, std::string gpu, const char* runtime) {
    Request request = with_runtime(question(std::move(model), "q4_k_m", 0, std::move(gpu)), runtime);
    request.n_ctx.reset();
    return request;
}

std::uint64_t kv_cache_of(const Answer& a) {
    std::uint64_t sum = a.host.kv_cache;
    for (const DeviceAnswer& device : a.devices) sum += device.memory.kv_cache;
    return sum;
}

} // namespace

TEST_CASE("Ollama's context depends on the memory of all GPUs together") {
    // server/routes.go: 4096 below 23 GiB, 32768 below 47 GiB, else 262144, and at most what the model was trained for
    CHECK(answer(without_context("llama3.1-8b", "16GB", "ollama")).settings.n_ctx == 4096);
    CHECK(answer(without_context("llama3.1-8b", "24GB", "ollama")).settings.n_ctx == 32768);
    CHECK(answer(without_context("llama3.1-8b", "2x12GB", "ollama")).settings.n_ctx == 32768);
    CHECK(answer(without_context("llama3.1-8b", "48GB", "ollama")).settings.n_ctx == 131072);
    CHECK(answer(without_context("qwen3.6-27b", "80GB", "ollama")).settings.n_ctx == 262144);
    const Answer a = answer(without_context("llama3.1-8b", "24GB", "ollama"));
    CHECK(has_note(a, "no context was given: 32768 is what Ollama takes by itself with 24.0 GiB of GPU memory"));
    CHECK(a.command == "ollama run MODEL"); // a default goes without saying
    CHECK(a.max_ctx.fit == 131072);         // the largest is still looked for
}

TEST_CASE("LM Studio takes 4096 tokens by itself, KoboldCpp 8192, llama.cpp what fits") {
    CHECK(answer(without_context("llama3.1-8b", "24GB", "lmstudio")).settings.n_ctx == 4096);
    CHECK(answer(without_context("llama3.1-8b", "24GB", "koboldcpp")).settings.n_ctx == 8448); // see below
    const Answer llama = answer(without_context("llama3.1-8b", "24GB", "llama.cpp"));
    CHECK(llama.settings.n_ctx == llama.max_ctx.fit);
}

TEST_CASE("Ollama's parallel requests have a whole context each") {
    // llm/llama_server.go: -c num_ctx * parallel -np parallel, and slots that somebody asked for share nothing
    Request request = with_runtime(llama_8b(8192, "24GB"), "ollama");
    const Answer one = answer(request);
    CHECK(one.settings.parallel == 1);
    CHECK(one.settings.n_ctx == 8192);
    CHECK(kv_cache_of(one) == gib); // 8192 * 128 KiB
    request.parallel = 3;
    const Answer three = answer(request);
    CHECK(three.settings.n_ctx == 24576);
    CHECK(three.settings.n_ctx_per_seq == 8192);
    CHECK_FALSE(three.settings.kv_unified);
    CHECK(kv_cache_of(three) == 3 * gib);
    CHECK(has_note(three, "Ollama gives each of the 3 slots a cache of 8192 tokens"));
    CHECK(three.command == "OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=3 ollama serve");
}

TEST_CASE("the largest context of Ollama is one that a person can say") {
    Request request = with_runtime(llama_8b(8192, "12GB"), "ollama");
    request.parallel = 2;
    const Answer a = answer(request);
    REQUIRE(a.max_ctx.fit > 0);
    request.n_ctx = a.max_ctx.fit;
    const Answer largest = answer(request);
    CHECK(largest.verdict == Verdict::fit);
    CHECK(largest.settings.n_ctx == 2 * a.max_ctx.fit);
    request.n_ctx = a.max_ctx.fit + 256;
    CHECK(answer(request).verdict != Verdict::fit);
}

TEST_CASE("some models have one slot in Ollama, whatever is asked") {
    Request request = with_runtime(question("qwen3.6-27b", "q4_k_m", 8192, "48GB"), "ollama"); // qwen35
    request.parallel = 4;
    const Answer a = answer(request);
    CHECK(a.settings.parallel == 1);
    CHECK(a.settings.n_ctx == 8192);
    CHECK(has_note(a, "Ollama gives this model one slot, whatever is asked"));
}

TEST_CASE("Ollama cuts a context to what the model was trained for") {
    const Answer a = answer(with_runtime(llama_8b(200000, "48GB"), "ollama"));
    CHECK(a.settings.n_ctx == 131072);
    CHECK(has_note(a, "Ollama cuts the context to the 131072 that the model was trained for"));
}

TEST_CASE("Ollama's batch follows context and memory") {
    // A 24GB card shows 24 GiB - 750 MiB = 24983371776 bytes; the file has 4912898304 and the cache 131072 a token.
    const auto batch = [](std::uint64_t n_ctx, const char* gpu) {
        return answer(with_runtime(llama_8b(n_ctx, gpu), "ollama")).settings.n_ubatch;
    };
    CHECK(batch(4096, "24GB") == 512);
    CHECK(batch(32768, "24GB") == 1024);
    CHECK(batch(65536, "24GB") == 2048); // 13.5e9 predicted, 60 % are 15.0e9
    CHECK(batch(81920, "24GB") == 1024); // 15.7e9, 75 % are 18.7e9
    CHECK(batch(131072, "24GB") == 512); // 22.1e9
    CHECK(batch(8192, "6GB") == 512);    // 6.0e9 predicted of 5.7e9
    Request request = with_runtime(llama_8b(8192, "24GB"), "ollama");
    request.n_batch = 256; // num_batch is both
    CHECK(answer(request).settings.n_batch == 256);
    CHECK(answer(request).settings.n_ubatch == 256);
    request.n_batch.reset();
    request.flash_attn = FlashAttention::off;
    CHECK(answer(request).settings.n_ubatch == 512);
    request.gpus = {"8GB"};
    CHECK(answer(request).settings.n_ubatch == 256);
}

TEST_CASE("Ollama puts a model on one GPU where it expects it to fit there") {
    // 4.9e9 and 1.1e9 of a cache are less than 80 % of the 12.1e9 that a 12GB card shows; with 65536 tokens 13.5e9 are not.
    const Answer one = answer(with_runtime(llama_8b(8192, "2x12GB"), "ollama"));
    CHECK(one.devices[0].memory.weights > 0);
    CHECK(one.devices[1].memory.sum() == 0);
    const Answer both = answer(with_runtime(llama_8b(65536, "2x12GB"), "ollama"));
    CHECK(both.devices[1].memory.weights > 0);
    Request said = with_runtime(llama_8b(8192, "2x12GB"), "ollama");
    said.tensor_split = {1, 1};
    CHECK(answer(said).devices[1].memory.weights > 0);
}

TEST_CASE("the advice for Ollama is in variables of its server") {
    Request request = with_runtime(llama_8b(32768, "8GB"), "ollama");
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* ctx = find_kind(a, "ctx");
    REQUIRE(ctx != nullptr);
    const std::string variable = "OLLAMA_CONTEXT_LENGTH=" + std::to_string(a.max_ctx.fit);
    CHECK(ctx->flags == std::vector<std::string>{variable});
    CHECK(ctx->command == variable + " ollama serve");
    CHECK(answer(ctx->request).verdict == ctx->verdict);
    CHECK(has_note(a, "variables of Ollama belong to its server"));
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::on;
    request.n_gpu_layers = 20;
    const Answer b = answer(request);
    CHECK(b.command == "OLLAMA_CONTEXT_LENGTH=32768 OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_FLASH_ATTENTION=1 ollama serve");
    CHECK(has_note(b, "/set parameter num_gpu 20"));
    for (const Suggestion& s : b.suggestions) CHECK(s.command.find(" -") == std::string::npos);
}

TEST_CASE("what a runtime cannot be told is neither advice nor hidden") {
    Request request = with_runtime(question("qwen3-30b-a3b", "q4_k_m", 32768, "12GB"), "ollama");
    request.swa_full = true;
    const Answer a = answer(request);
    CHECK(find_kind(a, "n_cpu_moe") == nullptr); // Ollama has no --n-cpu-moe
    CHECK(find_kind(a, "kv_unified") == nullptr);
    CHECK(has_note(a, "Ollama has no setting for swa_full: the figures are with it all the same"));
    request.type_k = TensorType::q8_0;
    CHECK(error_of(request) == "Ollama has one setting for the types of both caches; give --cache-type");
    request.type_k = request.type_v = TensorType::q5_1;
    CHECK(error_of(request) == "Ollama has no KV cache of type q5_1; f16, q8_0 or q4_0 would be right");
}

TEST_CASE("a model that does not fit the GPU is no failure to Ollama, unless the layers were said") {
    Request request = with_runtime(llama_8b(32768, "8GB"), "ollama");
    CHECK(answer(request).failure->message.find("`ollama ps` shows the split") != std::string::npos);
    request.n_gpu_layers = gpu_layers_all;
    CHECK(answer(request).failure->message.find("cudaMalloc failed") != std::string::npos);
}

TEST_CASE("LM Studio's four predictions share one cache") {
    // lmstudio-bug-tracker issue 1862: Qwen3.6-27B with 262144 tokens, 4 sequences: a cache of 16384 MiB in 16 layers and
    // recurrent states of 598.5 MiB in 4 cells.
    Request request = with_runtime(question("qwen3.6-27b", "q4_k_m", 262144, "80GB"), "lmstudio");
    const Answer a = answer(request);
    CHECK(a.settings.parallel == 4);
    CHECK(a.settings.kv_unified);
    CHECK(kv_cache_of(a) == 16384 * mib);
    CHECK(a.devices[0].memory.recurrent_state == 1197 * mib / 2);
    CHECK(a.command == "lms load MODEL --context-length 262144 --gpu max");
    CHECK(a.compute_basis == Basis::modelled);
    request.parallel = 2;
    request.type_k = request.type_v = TensorType::q8_0;
    const Answer b = answer(request);
    CHECK(b.command == "lms load MODEL --context-length 262144 --gpu max --parallel 2");
    CHECK(has_note(b, "to be set where LM Studio loads the model: K Cache Quantization Type q8_0 and V Cache "
                      "Quantization Type q8_0"));
}

TEST_CASE("KoboldCpp adds cells to the context, and caches all of it in sliding windows") {
    // 8192 + 128 cells, padded to 8448: 8448 * 128 KiB
    CHECK(kv_cache_of(answer(with_runtime(llama_8b(8192, "24GB"), "koboldcpp"))) == 8448 * 128 * 1024ULL);
    // Gemma 3 27B: 62 layers * 8448 cells * 16 heads * 128 * 2 caches * 2 bytes
    Request request = with_runtime(question("gemma3-27b", "q4_k_m", 8192, "48GB"), "koboldcpp");
    const Answer a = answer(request);
    CHECK(kv_cache_of(a) == 62ULL * 8448 * 16 * 128 * 2 * 2);
    CHECK(a.settings.flash_attn);
    CHECK(a.settings.n_ubatch == 512);
    CHECK(has_note(a, "KoboldCpp caches the whole context in sliding-window layers, too; --useswa makes that smaller"));
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::on;
    CHECK(answer(request).command == "koboldcpp --model MODEL.gguf --contextsize 8192 --gpulayers 99 --quantkv q8_0");
    request.type_k = request.type_v = TensorType::f16;
    request.flash_attn = FlashAttention::off;
    CHECK(answer(request).command ==
          "koboldcpp --model MODEL.gguf --contextsize 8192 --gpulayers 99 --quantkv f16 --noflashattention");
}

TEST_CASE("caches of public Ollama logs, to the byte") {
    struct Row {
        const char* source;
        const char* model;
        const char* gpu;
        std::uint64_t num_ctx, parallel, mib;
        TensorType type;
    };
    // The figures are those of the logs; what they come from stands behind them.
    for (const Row& row : {
             Row{"num_ctx 4096, parallel 2", "llama3-8b", "24GB", 4096, 2, 1024, TensorType::f16},
             Row{"num_ctx 2048, parallel 4", "llama3.1-8b", "24GB", 2048, 4, 1024, TensorType::f16},
             Row{"num_ctx 4096", "llama3-8b", "24GB", 4096, 1, 512, TensorType::f16},
             Row{"num_ctx 4096", "qwen3-30b-a3b", "48GB", 4096, 1, 384, TensorType::f16}, // 48 layers * 4 heads * 128
             Row{"num_ctx 2048", "phi-4", "24GB", 2048, 1, 400, TensorType::f16},         // 40 layers * 10 heads * 128
             Row{"issue 10417 (3.1, of the same shape)", "mistral-small-3.2-24b", "24GB", 4096, 1, 640,
                 TensorType::f16}, // 40 * 8 * 128
             // 5 layers * 131072 cells and 29 layers * (1024 + a batch of 512) cells, 4 heads * 256
             Row{"issue 17037", "gemma3-4b", "rtx5080", 131072, 1, 2560 + 174, TensorType::f16},
             Row{"issue 5091: 697 MiB for 41 of 80 layers", "llama3-70b", "2x48GB", 8192, 1, 1360, TensorType::q8_0},
         }) {
        INFO(row.source << ", " << row.model);
        Request request = with_runtime(question(row.model, "q4_0", row.num_ctx, row.gpu), "ollama");
        request.parallel = row.parallel;
        request.type_k = request.type_v = row.type;
        CHECK(kv_cache_of(answer(request)) == row.mib * mib);
    }
}

TEST_CASE("an older llama.cpp answers by its own rules") {
    Request request = llama_8b(8192, "24GB");
    request.runtime_version = "b6325";
    const Answer old = answer(request);
    CHECK(old.settings.parallel == 1);
    CHECK_FALSE(old.settings.flash_attn);
    request.type_k = request.type_v = TensorType::q8_0; // a quantized V cache needs flash attention
    CHECK(answer(request).verdict == Verdict::refused);
    request.flash_attn = FlashAttention::on;
    CHECK(answer(request).command == "llama-server -m MODEL.gguf -c 8192 -ngl 99 -ctk q8_0 -ctv q8_0 -fa");
    request.n_gpu_layers = gpu_layers_auto;
    CHECK(has_note(answer(request),
                   "llama.cpp b6325 does not place layers by itself: without --gpu-layers it puts none"));
    request.n_gpu_layers.reset();
    request.flash_attn.reset(); // off, as the build has it: that it can be on is what helps
    CHECK(answer(request).suggestions.front().flags == std::vector<std::string>{"-fa"});
    request = without_context("llama3.1-8b", "24GB", "llama.cpp");
    request.runtime_version = "b7404"; // --fit is newer
    CHECK(answer(request).settings.n_ctx == 131072);
    CHECK(has_note(answer(request), "no context was given: 131072 is what llama.cpp takes by itself"));
}
