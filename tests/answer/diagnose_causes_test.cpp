// Causes that keep to the log's own figures, and figures that belong to what they are said of.
#include "answer/diagnose/request_of.hpp"
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

Diagnosis read(const std::string& log, const Request& hints = {}) { return diagnose(log_stream(log), hints); }

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool any_says(const std::vector<std::string>& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return says(text, part); });
}

std::string stage_and_cause(const std::string& log) {
    const Diagnosis found = read(log);
    return std::string(name_of(found.stage)) + " " + std::string(name_of(found.cause));
}

const std::string ready = "main: server is listening on http://127.0.0.1:8080 - starting the main loop\n";
const std::string card =
    "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) - 24000 MiB free\n";
const std::string weights = "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n";
const std::string context = "llama_context: n_ctx         = 32768\n";

std::string refused(const std::string& mib_text, const std::string& what) {
    return "ggml_backend_cuda_buffer_type_alloc_buffer: allocating " + mib_text +
           ".00 MiB on device 0: cudaMalloc failed: out of memory\n"
           "llama_init_from_model: failed to initialize the context: failed to allocate " +
           what + "\n";
}

} // namespace

TEST_CASE("what fits by the log's own figures is not too large", "[diagnose]") {
    // 24000 - 4403 = 19597 MiB were left, 4096 were asked for.
    const Diagnosis found = read(card + weights + context + refused("4096", "buffer for kv cache"));
    CHECK(found.stage == FailureStage::kv_cache);
    CHECK(found.cause == FailureCause::other_process);
    CHECK(says(found.summary, "would fit on CUDA0 by the log's own figures (19597 MiB left)"));
    const std::string cache = "llama_kv_cache: CUDA0 KV buffer size = 4096.00 MiB\n";
    CHECK(stage_and_cause(card + weights + context + cache + refused("258", "compute pp buffers")) ==
          "compute other_process");
    CHECK(stage_and_cause(card + weights + context + refused("258", "compute pp buffers")) ==
          "compute compute_too_large"); // how large is the cache?
    CHECK(says(read(card + weights + context + refused("258", "compute pp buffers")).summary,
               "19597 MiB were left beside what lay there already, less what the log does not show"));
    // 24000 - 4403 = 19597 MiB less a cache of 4096, hold a projector of 818.
    const std::string projector =
        "clip_model_load: loading\n" + refused("818", "x") + "mtmd: failed to load CLIP model\n";
    CHECK(stage_and_cause(card + weights + context + cache + projector) == "mmproj other_process");
    // Where more was asked for than was left it is.
    CHECK(stage_and_cause(card + weights + context + refused("20480", "buffer for kv cache")) ==
          "kv_cache kv_too_large");
    // The driver and the program's own context take some of what was free: 400 MiB too many are no proof.
    const Diagnosis near = read(card + weights + context + refused("19200", "buffer for kv cache"));
    CHECK(near.cause == FailureCause::kv_too_large);
    CHECK(says(near.summary, "of which the driver and the program's own context take some hundred"));
    // Without the weights' size nothing is known of what was left.
    CHECK(stage_and_cause(card + context + cache + refused("9000", "compute pp buffers")) ==
          "compute compute_too_large");
    const Diagnosis silent = read(card + context + refused("4096", "buffer for kv cache"));
    CHECK(silent.cause == FailureCause::kv_too_large);
    CHECK(says(silent.summary, "before the weights, whose size the log does not show"));
}

TEST_CASE("free memory that holds the whole cache is not the cache's fault", "[diagnose]") {
    const std::string log =
        "llama-server: failed to allocate KV cache, requested ctx=4096, gpu memory free=20000 MiB\n";
    Request hints;
    hints.model = "llama3.1-8b"; // 128 KiB a token: 512 MiB
    const Diagnosis known = read(log, hints);
    CHECK(known.cause == FailureCause::other_process);
    CHECK(says(known.summary, "(512 MiB) would fit on the GPU by the log's own figures (20000 MiB left)"));
    const Diagnosis unknown = read(log);
    CHECK(says(unknown.summary, "depends on the model, which the log does not show"));
    CHECK(std::ranges::find(unknown.missing, "--model") != unknown.missing.end());
}

TEST_CASE("a failure at load is not one of generation", "[diagnose]") {
    const std::string load_2023 = "llama_model_load_internal: n_ctx      = 2048\n"
                                  "llama_model_load_internal: n_layer    = 40\n"
                                  "llama_model_load_internal: offloaded 43/43 layers to GPU\n";
    const std::string error = "CUDA error 2 at ggml-cuda.cu:2348: out of memory\n";
    const std::string cache = "llama_new_context_with_model: kv self size  = 1600.00 MB\n";
    CHECK(stage_and_cause(load_2023 + error) == "weights weights_too_large");
    CHECK(stage_and_cause(load_2023 + cache + error) == "compute compute_too_large");
    CHECK(stage_and_cause(load_2023 + cache + "generate: n_ctx = 2048, n_batch = 512\n" + error) ==
          "generation generation_growth");
    const std::string modern =
        "CUDA error: out of memory\n  current device: 0, in function alloc at ggml-cuda.cu:503\n";
    // The pool of kernels: no weights come from it, whatever else of the log was left out.
    CHECK(stage_and_cause(card + weights + modern) == "generation generation_growth");
    CHECK(stage_and_cause(card + weights + context + modern) == "compute compute_too_large");
    CHECK(stage_and_cause(card + weights + context + ready + modern) == "generation generation_growth");
}

TEST_CASE("PyTorch's exceptions are not llama.cpp's", "[diagnose]") {
    const Diagnosis found = read("RuntimeError: CUDA error: out of memory\n");
    CHECK(found.runtime == LogRuntime::pytorch);
    CHECK(found.oom);
}

TEST_CASE("a tensor is not called the model", "[diagnose]") {
    const std::string torch =
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 0 has a total "
        "capacity of 22.05 GiB of which 112.44 MiB is free. Including non-PyTorch memory, this "
        "process has 21.93 GiB memory in use.\n";
    const Diagnosis found = read("  File \"/v/site-packages/x/loader.py\", line 9, in load_weights\n" + torch);
    CHECK(found.stage == FailureStage::weights);
    CHECK(says(found.summary, "A tensor of the weights (270 MiB) does not fit on GPU 0: 112 MiB were free beside the "
                              "21.9 GiB that the program held already"));
    // Two cards, and nothing is known of the file.
    const std::string second = "using device CUDA1 (NVIDIA GeForce RTX 4090) - 10000 MiB free\n";
    const std::string unable =
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20000.00 MiB on device 1: cudaMalloc "
        "failed: out of memory\nllama_model_load: error loading model: unable to allocate CUDA1 "
        "buffer\n";
    CHECK(says(read(card + second + unable).summary, "This part of the weights (19.5 GiB) does not fit on CUDA1"));
    // 20 GiB of a file of 39: one of two cards.
    const Diagnosis part = read("print_info: file size   = 39.59 GiB (4.82 BPW)\n"
                                "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 20480.00 MiB on device 1: "
                                "cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to "
                                "allocate CUDA1 buffer\n");
    CHECK(says(part.summary, "This part of the weights (20.0 GiB) does not fit on CUDA1"));
}

TEST_CASE("the reason of another failure is shown whole", "[diagnose]") {
    const Diagnosis found = read("llama_model_load: error loading model: check_tensor_dims: tensor "
                                 "'blk.0.attn_k_norm.weight' has wrong shape; expected  5120, got  128,     1\n");
    CHECK(found.cause == FailureCause::not_memory);
    CHECK(says(found.summary, "has wrong shape; expected  5120, got  128"));
    CHECK(says(read("terminate called after throwing an instance of 'std::runtime_error'\n"
                    "  what():  Invalid magic number: corrupt file?\n")
                   .summary,
               "'std::runtime_error': Invalid magic number: corrupt file?"));
    // Behind much that does not matter the front is cut.
    const Diagnosis far = read("request " + std::string(2000, 'x') + " failed: GGML_ASSERT(n_swa > 0) failed\n");
    CHECK(says(far.summary, "GGML_ASSERT(n_swa > 0) failed"));
}

TEST_CASE("a draft model's and a projector's names are not the model's", "[diagnose]") {
    const std::string model =
        "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from "
        "/m/big-Q4_K_M.gguf (version GGUF V3 (latest))\n"
        "print_info: general.name = Big\nprint_info: file type = Q4_K - Medium\n"
        "load_tensors: offloaded 33/33 layers to GPU\n" +
        weights + context +
        "llama_kv_cache: CUDA0 KV buffer size = 4096.00 MiB\n"
        "llama_kv_cache: size = 4096.00 MiB ( 32768 cells, 32 layers, 1/1 seqs), K (f16): 2048.00 "
        "MiB, V (f16): 2048.00 MiB\n";
    const std::string draft = "srv load_model: loading draft model '/m/small-Q8_0.gguf'\n"
                              "llama_model_loader: loaded meta data with 29 key-value pairs and 200 tensors from "
                              "/m/small-Q8_0.gguf (version GGUF V3 (latest))\n"
                              "print_info: general.name = Small\nprint_info: file type = Q8_0\n"
                              "load_tensors: offloaded 17/17 layers to GPU\n"
                              "llama_kv_cache: size = 512.00 MiB ( 32768 cells, 16 layers, 1/1 seqs), K (q8_0): 256.00 "
                              "MiB, V (q8_0): 256.00 MiB\n";
    const Diagnosis found = read(model + draft + ready);
    CHECK(found.model_name == "big-Q4_K_M.gguf");
    CHECK(found.quant == "Q4_K_M");
    REQUIRE(found.figure("gpu_layers") != nullptr);
    CHECK(found.figure("gpu_layers")->value == 33);
    const auto type = std::ranges::find(found.settings, "cache_type_k", &LogSetting::name);
    REQUIRE(type != found.settings.end());
    CHECK(type->value == "f16");
    // What is free when the draft model begins is what the model has left: it lies there already.
    const std::string late =
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) - 15500 MiB free\n";
    const Diagnosis failed = read(card + model + late + draft + refused("20000", "buffer for kv cache"));
    CHECK(failed.cause == FailureCause::draft);
    REQUIRE(failed.figure("free") != nullptr);
    CHECK(failed.figure("free")->value == 24000 * mib);
    // A projector that is loaded first.
    const Diagnosis vision = read("clip_model_load: model name:   openai/clip-vit-large-patch14-336\n"
                                  "clip_model_load: loaded meta data with 19 key-value pairs and 377 tensors from "
                                  "/m/mmproj-f16.gguf\n" +
                                  model + ready);
    CHECK(vision.model_name == "big-Q4_K_M.gguf");
    CHECK(vision.quant == "Q4_K_M");
    REQUIRE(vision.figure("weights") != nullptr);
}

TEST_CASE("Windows spills, near its memory's end as well", "[diagnose]") {
    const std::string windows = "srv load_model: loading model 'C:\\Users\\Bob Jones\\x-Q4_K_M.gguf'\n";
    const std::string full = "load_tensors:        CUDA0 model buffer size = 20000.00 MiB\n"
                             "llama_context: n_ctx         = 32768\n"
                             "llama_kv_cache: CUDA0 KV buffer size = 3800.00 MiB\n"; // 23800 of 24000
    CHECK(any_says(read(card + windows + full + ready).notes, "shared GPU memory"));
    CHECK_FALSE(any_says(read(card + "srv load_model: loading model '/m/x.gguf'\n" + full + ready).notes, "shared"));
    CHECK_FALSE(any_says(read(card + windows + weights + context + ready).notes, "shared"));
    const std::string nvidia_smi = "|   0  NVIDIA GeForce RTX 4090      WDDM  |   00000000:01:00.0  On |\n";
    CHECK(any_says(read(nvidia_smi + card + full + ready).notes, "shared GPU memory"));
}

TEST_CASE("Ollama on Windows tells what is free of the card", "[diagnose]") {
    const std::string line = "time=2025-11-01T10:00:00.000+01:00 level=INFO source=";
    // 4.7 + 2.0 GiB + 120 MiB are 6981 of 7066 MiB.
    const Diagnosis found =
        read(line +
             "types.go:42 msg=\"inference compute\" library=CUDA name=CUDA0 total=\"8.0 GiB\" available=\"6.9 GiB\"\n" +
             line +
             "server.go:400 msg=\"starting runner\" cmd=\"C:\\\\Users\\\\Bob Jones\\\\Ollama\\\\ollama.exe runner\"\n" +
             line + "device.go:240 msg=\"model weights\" device=CUDA0 size=\"4.7 GiB\"\n" + line +
             "device.go:251 msg=\"kv cache\" device=CUDA0 size=\"2.0 GiB\"\n" + line +
             "device.go:262 msg=\"compute graph\" device=CUDA0 size=\"120.0 MiB\"\n" + line +
             "server.go:1385 msg=\"llama runner started in 140.25 seconds\"\n");
    CHECK(any_says(found.notes,
                   "6981 MiB of the 7066 MiB that were free on CUDA0 are in use, and the load took 140 seconds"));
    CHECK(any_says(found.notes, "shared GPU memory"));
}

TEST_CASE("a card that the log names is asked about", "[diagnose]") {
    const std::string model = "srv load_model: loading model '/m/Llama-3.1-8B-Instruct-Q4_K_M.gguf'\n"
                              "llama_context: n_ctx         = 131072\n"
                              "llama_kv_cache: failed to allocate buffer for kv cache\n";
    for (const std::string device : {"  Device 0: NVIDIA GeForce RTX 4070, compute capability 8.9, VMM: yes\n",
                                     "  Device 0: AMD Radeon RX 7800 XT, gfx1101 (0x1101), VMM: no, Wave Size: 32\n"}) {
        const Diagnosis found = read(device + model);
        CHECK(std::ranges::find(found.missing, "--gpu") == found.missing.end());
        REQUIRE_FALSE(found.actions.empty());
        CHECK(found.actions.front().verdict.has_value());
        CHECK_FALSE(found.gpu.empty());
    }
}

TEST_CASE("no flag is said twice", "[diagnose]") {
    const std::string log =
        "msg=\"inference compute\" id=0 library=cuda name=\"NVIDIA GeForce RTX 3060\" total=\"11.8 GiB\" "
        "available=\"11.0 GiB\"\nllama_model_loader: loaded meta data with 29 key-value pairs and 292 "
        "tensors from /m/Llama-3.1-8B-Instruct-Q4_K_M.gguf (version GGUF V3 (latest))\n"
        "llama_context: n_ctx = 131072\nllama_context: flash_attn = 0\n"
        "llama_kv_cache: failed to allocate buffer for kv cache\n"
        "time=1 level=INFO source=server.go:1 msg=x\n";
    const Diagnosis found = read(log);
    CHECK(found.runtime == LogRuntime::ollama);
    for (const DiagnosisAction& action : found.actions)
        CHECK(std::ranges::count(action.flags, "OLLAMA_FLASH_ATTENTION=1") <= 1);
}

TEST_CASE("figures that no computer has do not count", "[diagnose]") {
    const std::string model =
        "srv load_model: loading model '/m/Llama-3.1-8B-Instruct-Q4_K_M.gguf'\n" + weights + context;
    const Diagnosis more_free = read("  - CUDA0   : NVIDIA GeForce RTX 4090 (24564 MiB, 99999 MiB free)\n" + model +
                                     refused("20480", "buffer for kv cache"));
    CHECK(more_free.figure("free") == nullptr);
    REQUIRE(more_free.figure("total") != nullptr);
    CHECK(more_free.figure("total")->value == 24564 * mib);
    CHECK(any_says(more_free.notes, "figures that no computer has"));
    const Diagnosis huge = read(card + model + refused("1000000000", "buffer for kv cache")); // 954 TiB
    CHECK(huge.oom);
    CHECK(huge.stage == FailureStage::kv_cache);
    REQUIRE(huge.figure("requested") != nullptr); // worked out of the model: 32768 * 128 KiB
    CHECK(huge.figure("requested")->value == 4 * gib);
    CHECK(huge.figure("requested")->line == 0);
}

TEST_CASE("a chat's turn over several lines is no failure", "[diagnose]") {
    const std::string words = "CUDA error: out of memory\nfailed to allocate buffer for kv cache\n";
    CHECK_FALSE(read(ready + "formatted prompt: <|im_start|>user\n" + words + "what is that?<|im_end|>\n").oom);
    CHECK_FALSE(read(ready + "prompt: '<s>[INST] I got\n" + words + "[/INST]'\n").oom);
    CHECK_FALSE(read(ready + "User: failed to allocate buffer for kv cache, what now?\n").oom);
    CHECK(read(ready + "<|im_start|>user\nhi<|im_end|>\n" + words).oom); // behind its end the log goes on
}

TEST_CASE("characters without a width are dropped", "[diagnose]") {
    const std::string log = "llama_kv_cache: failed to allo\xe2\x80\x8b"
                            "cate buffer for kv cache\n";
    CHECK(stage_and_cause(log) == "kv_cache kv_too_large");
    const Diagnosis named = read("srv load_model: loading model '/m/a\xe2\x80\x8b"
                                 "b-Q4_K_M.gguf'\n" +
                                 weights);
    CHECK(named.model_name == "ab-Q4_K_M.gguf");
}

TEST_CASE("what a person says must make sense", "[diagnose]") {
    const std::string log = card + weights + context + refused("20480", "buffer for kv cache");
    Request quant, gpu, free;
    quant.quant = "foo";
    CHECK_THROWS_WITH(read(log, quant),
                      "unknown quantization \"foo\"; 'vramfit quants' lists all, such as Q4_K_M or Q8_0");
    CHECK_THROWS_AS(compare(log_stream(log), quant), Error);
    gpu.gpus = {"foo"};
    CHECK_THROWS_WITH(read(log, gpu),
                      "unknown GPU \"foo\"; give a name that 'vramfit gpus' lists, or a size such as 24GB");
    free.gpus = {"24GB"};
    free.free = 30 * gib;
    CHECK_THROWS_AS(read(log, free), Error);
    Request awq;
    awq.quant = "awq"; // of engines that read checkpoints
    CHECK_NOTHROW(read(log, awq));
}

TEST_CASE("a message over several lines is kept as the log has it", "[diagnose]") {
    const Diagnosis found =
        read("INFO 12-11 00:06:50 [core.py:1] x\n"
             "ERROR 12-11 00:06:53 [core.py:1] ValueError: To serve at least one request with the "
             "models's max seq len (32768), (4.00 GiB KV cache is needed, which is larger than the\n"
             "INFO 12-11 00:06:53 [core.py:1] n_ctx = 5\n"
             "ERROR 12-11 00:06:53 [core.py:1] available KV cache memory (2.00 GiB).\n");
    CHECK(found.cause == FailureCause::kv_too_large);
    REQUIRE(found.figure("free") != nullptr);
    CHECK(found.figure("free")->value == 2 * gib);
    for (const LogLine& line : found.evidence) CHECK_FALSE(says(line.text, "Toserveatleast"));
    REQUIRE_FALSE(found.evidence.empty());
    CHECK(says(found.evidence.front().text, "To serve at least one request with the models's max seq len (32768)"));
}

TEST_CASE("what helps an engine is confirmed where its model is known", "[diagnose]") {
    // 13.5 GiB of weights in half of 24 GiB; in 95 % of them there is room for 2 GiB of cache (16384 * 128 KiB), too.
    const std::string log =
        "INFO 12-11 00:06:50 [utils.py:1] non-default args: {'model': 'org/x', 'max_model_len': 16384, "
        "'gpu_memory_utilization': 0.5}\n"
        "INFO 12-11 00:06:51 [worker.py:1] Available KV cache memory: -3.03 GiB\n"
        "ERROR 12-11 00:06:53 [core.py:1] ValueError: No available memory for the cache blocks. Try "
        "increasing `gpu_memory_utilization` when initializing the engine.\n";
    const Diagnosis unknown = read(log);
    CHECK(unknown.missing == std::vector<std::string>{"--model", "--gpu"});
    Request hints;
    hints.model = "mistral-7b-v0.3";
    hints.gpus = {"24GB"};
    const Diagnosis known = read(log, hints);
    CHECK(known.missing.empty());
    REQUIRE_FALSE(known.actions.empty());
    CHECK(known.actions.front().kind == "utilization");
    CHECK(known.actions.front().verdict == Verdict::fit);
}

TEST_CASE("free memory that a program saw has its own context taken off already", "[diagnose]") {
    // data/overheads.json: a context takes 300 MiB, a driver 450 MiB of cards up to 48 GiB.
    Load load;
    load.device("CUDA0").free = Logged{8000 * mib, 1};
    const Request request = request_of(load, {}, {}, {});
    CHECK(request.gpus == std::vector<std::string>{"8750MiB"});
    CHECK(request.free == 8300 * mib);
    load.device("CUDA0").total = Logged{8192 * mib, 1}; // nothing is freer than the card is large
    CHECK(request_of(load, {}, {}, {}).free == 8192 * mib);
}
