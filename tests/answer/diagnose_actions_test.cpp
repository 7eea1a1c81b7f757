// What is made of a read log: figures with their lines, sentences, and what to do.
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

Diagnosis diagnosis_of(const std::string& text, const Request& hints = {}) { return diagnose(log_stream(text), hints); }

std::string log_text_of(const std::string& name) {
    return test::read_file(std::string(VRAMFIT_TEST_DATA) + "/logs/" + name);
}

using Flags = std::vector<std::string>;

bool any_has(const std::vector<std::string>& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

/// The line of `log` that holds `text` first, from 1.
std::uint64_t line_of(const std::string& log, std::string_view text) {
    const auto end = log.begin() + static_cast<std::ptrdiff_t>(log.find(text));
    return 1 + static_cast<std::uint64_t>(std::count(log.begin(), end, '\n'));
}

} // namespace

TEST_CASE("every figure and setting in effect has its line", "[diagnose]") {
    const std::string log = log_text_of("24_fail_gemma27b_kv.log");
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.model_line == line_of(log, "loading model '"));
    CHECK(found.quant_line > 0);
    for (const std::string name : {"n_ctx", "n_parallel", "gpu_layers", "weights", "free", "requested"}) {
        REQUIRE(found.figure(name) != nullptr);
        CHECK(found.figure(name)->line > 0);
    }
    CHECK(!found.settings.empty());
    for (const LogSetting& setting : found.settings) CHECK(setting.line > 0);
    const auto unified = std::ranges::find(found.settings, "kv_unified", &LogSetting::name);
    REQUIRE(unified != found.settings.end());
    CHECK(unified->line == line_of(log, "kv_unified            = "));
}

TEST_CASE("two actions, no more", "[diagnose]") {
    for (const std::string name : {"24_fail_gemma27b_kv.log", "09_fail_compute_8b_8k.log",
                                   "10_fail_weights_70b_24g.log", "071_vllm_negative_cache_share.log"})
        CHECK(diagnosis_of(log_text_of(name)).actions.size() == 2);
}

TEST_CASE("a model that no catalog has is sized by what its log prints", "[diagnose]") {
    // 20 layers, 4 heads of K and V, 96 wide: 20 * 4 * (96 + 96) * 2 bytes are 30 KiB a token. Parameters: 20 * (Q and O
    // 2 * 1536 * 1536, K and V 2 * 1536 * 384, FFN 3 * 1536 * 4096, norms 2 * 1536) + 2 * 32000 * 1536 + 1536 = 593.82 M
    const std::string log = "llama_model_loader: - kv   0:  general.architecture str = llama\n"
                            "llama_model_loader: - kv   1:  general.name str = Secret Finetune\n"
                            "llama_model_loader: - kv   2:  llama.block_count u32 = 20\n"
                            "llama_model_loader: - kv   3:  llama.context_length u32 = 65536\n"
                            "llama_model_loader: - kv   4:  llama.embedding_length u32 = 1536\n"
                            "llama_model_loader: - kv   5:  llama.feed_forward_length u32 = 4096\n"
                            "llama_model_loader: - kv   6:  llama.attention.head_count u32 = 16\n"
                            "llama_model_loader: - kv   7:  llama.attention.head_count_kv u32 = 4\n"
                            "llama_model_loader: - kv   8:  tokenizer.ggml.tokens arr[str,32000] = [\"a\", ...\n"
                            "llama_model_loader: - kv   9:  general.file_type u32 = 7\n"
                            "print_info: n_embd_head_k = 96\nprint_info: n_embd_head_v = 96\n"
                            "print_info: model params = 593.82 M\n"
                            "  - CUDA0   : NVIDIA GeForce GTX 1650 (4096 MiB, 2000 MiB free)\n"
                            "llama_context: n_ctx = 65536\nllama_context: flash_attn = 1\n"
                            "llama_kv_cache: failed to allocate KV cache\n";
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.model_id.empty());
    CHECK(found.model_name == "Secret Finetune");
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(found.figure("requested")->value == 65536ULL * 30 * 1024);
    CHECK(any_has(found.arithmetic, "30 KiB a token"));
    REQUIRE(!found.actions.empty());
    CHECK(found.actions[0].flags[0] == "-c");
    CHECK(found.actions[0].verdict.has_value());
    CHECK(found.missing.empty());
}

TEST_CASE("without the width of its heads nothing is guessed", "[diagnose]") {
    const Diagnosis found = diagnosis_of("print_info: arch = newcomer\nprint_info: n_layer = 20\n"
                                         "llama_kv_cache: failed to allocate KV cache\n");
    CHECK(found.figure("requested") == nullptr);
    CHECK(std::ranges::find(found.missing, "--model") != found.missing.end());
}

TEST_CASE("of free memory it is said that weights and compute come on top", "[diagnose]") {
    Request hints;
    hints.model = "llama3.1-8b";
    const Diagnosis found = diagnosis_of(
        "llama-server: failed to allocate KV cache, requested ctx=262144, gpu memory free=1024 MiB\n", hints);
    CHECK(any_has(found.arithmetic, "the cache of at most 8192 tokens, were nothing else put there"));
    CHECK(any_has(found.notes, "reserves the cache of the whole context while it loads"));
}

TEST_CASE("vLLM's context that fits comes from its own figures", "[diagnose]") {
    // 32768 tokens need 4.50 GiB and 2.25 GiB are there: half, in blocks of 16
    const std::string log = "INFO [utils.py:1] non-default args: {'model': 'org/x', 'gpu_memory_utilization': 0.8}\n"
                            "ValueError: To serve at least one request with the models's max seq len (32768), (4.50 "
                            "GiB KV cache is needed, which is larger than the available KV cache memory (2.25 GiB).\n";
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.runtime == LogRuntime::vllm);
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[0].flags == Flags{"--max-model-len", "16384"});
    CHECK(!found.actions[0].verdict); // no estimator speaks for vLLM
    CHECK(found.actions[1].flags == Flags{"--gpu-memory-utilization", "0.95"});
    // The runtime's own figure comes first, and a share that is in use already is not advised.
    const std::string more = "INFO [utils.py:1] non-default args: {'model': 'org/x', 'gpu_memory_utilization': 0.95}\n"
                             "ValueError: To serve at least one request with the models's max seq len (32768), (4.50 "
                             "GiB KV cache is needed, which is larger than the available KV cache memory (2.25 GiB). "
                             "Based on the available memory, the estimated maximum model length is 16368.\n";
    const Diagnosis own = diagnosis_of(more);
    REQUIRE(own.actions.size() == 2);
    CHECK(own.actions[0].flags == Flags{"--max-model-len", "16368"});
    CHECK(own.actions[1].flags == Flags{"--kv-cache-dtype", "fp8"});
}

TEST_CASE("more than was free lies there: some systems swap or spill instead of failing", "[diagnose]") {
    const std::string load = "load_tensors: CUDA0 model buffer size = 9000.00 MiB\n"
                             "llama_kv_cache: CUDA0 KV buffer size = 1000.00 MiB\nmain: model loaded\n";
    const std::string device = "  - CUDA0   : NVIDIA GeForce GTX 1080 (8192 MiB, 7000 MiB free)\n";
    const std::string windows = "srv load_model: loading model 'C:\\models\\x.gguf'\n";
    CHECK(any_has(diagnosis_of(device + windows + load).notes, "10000 MiB lie where 7000 MiB were free: on Windows"));
    CHECK(!any_has(diagnosis_of(device + load).notes, "Windows"));
    std::string mac = "ggml_metal_init: recommendedMaxWorkingSetSize = 5461.34 MB\n" + load;
    for (std::size_t at = mac.find("CUDA0"); at != std::string::npos; at = mac.find("CUDA0"))
        mac.replace(at, 5, "Metal");
    CHECK(any_has(diagnosis_of(mac).notes, "macOS compresses and swaps"));
}

TEST_CASE("an engine's actions of several flags are confirmed, too", "[diagnose]") {
    Request hints;
    hints.model = "llama3.1-8b";
    hints.gpus = {"24GiB"};
    const Diagnosis found = diagnosis_of(
        "INFO 06-01 10:00:00 [api_server.py:1043] vLLM API server version 0.9.0\n"
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (3.00 GiB). Based on the available memory, the "
        "estimated maximum model length is 24576. Try increasing `gpu_memory_utilization` or decreasing "
        "`max_model_len` when initializing the engine.\n",
        hints);
    // 15 GiB of weights; 128 KiB a token in 16 bits, 64 KiB in 8: 3 GiB either way, of 22 that vLLM takes.
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[0].flags == Flags{"--max-model-len", "24576"});
    CHECK(found.actions[0].verdict == Verdict::fit);
    CHECK(found.actions[1].flags == Flags{"--kv-cache-dtype", "fp8", "--max-model-len", "49152"});
    CHECK(found.actions[1].verdict == Verdict::fit);
}
