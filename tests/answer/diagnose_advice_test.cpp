// What is advised must be enough by the log's own figures; what cannot be is not advised.
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

using Flags = std::vector<std::string>;

Diagnosis diagnosis_of(const std::string& text, const std::string& gpu = "") {
    Request hints;
    if (!gpu.empty()) hints.gpus = {gpu};
    return diagnose(log_stream(text), hints);
}

std::vector<Flags> flags_of(const Diagnosis& found) {
    std::vector<Flags> flags;
    for (const DiagnosisAction& action : found.actions) flags.push_back(action.flags);
    return flags;
}

bool summary_has(const Diagnosis& found, std::string_view part) {
    return found.summary.find(part) != std::string::npos;
}

bool any_has(const std::vector<std::string>& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

const std::string vllm_profile =
    "INFO 01-15 09:12:33 worker.py:241] the current vLLM instance can use total_gpu_memory (23.59GiB) x "
    "gpu_memory_utilization (0.90) = 21.23GiB\n"
    "INFO 01-15 09:12:33 worker.py:241] model weights take 14.99GiB; non_torch_memory takes 0.09GiB; PyTorch "
    "activation peak memory takes 1.23GiB; the rest of the memory reserved for KV Cache is 4.92GiB.\n";

std::string too_few_tokens(const std::string& wanted, const std::string& held) {
    return "ValueError: The model's max seq len (" + wanted +
           ") is larger than the maximum number of tokens that can be stored in KV cache (" + held +
           "). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n";
}

} // namespace

TEST_CASE("vLLM: a larger share is advised where it brings the cache that is missing", "[diagnose]") {
    // 131072 tokens take 131072 / 40304 * 4.92 = 16.0 GiB; 5 % of 23.59 GiB more are 1.2.
    const Diagnosis far = diagnosis_of(vllm_profile + too_few_tokens("131072", "40304"));
    CHECK(flags_of(far) ==
          std::vector<Flags>{{"--max-model-len", "40304"}, {"--kv-cache-dtype", "fp8", "--max-model-len", "80608"}});
    CHECK(any_has(far.arithmetic, "the cache's 4.9 GiB hold 40304 tokens"));
    CHECK(any_has(far.arithmetic, "131072 tokens take 16.0 GiB"));
    // 45056 / 40304 * 4.92 = 5.50 GiB: 0.58 more, 0.0246 of the card.
    const Diagnosis near = diagnosis_of(vllm_profile + too_few_tokens("45056", "40304"));
    CHECK(flags_of(near) == std::vector<Flags>{{"--max-model-len", "40304"}, {"--gpu-memory-utilization", "0.93"}});
}

TEST_CASE("vLLM: the card's size, where nobody says it, bounds what a larger share can bring", "[diagnose]") {
    const std::string loaded = "INFO 12-11 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 5.1 seconds\n";
    const std::string error = "ValueError: To serve at least one request with the models's max seq len (131072), "
                              "(16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
                              "(4.47 GiB). Based on the available memory, the estimated maximum model length is 36592.";
    // 11.53 GiB in 5 % would be a card of 231 GiB; 15 + 4.5 GiB do not fill 90 % of one.
    CHECK(flags_of(diagnosis_of(loaded + error)) ==
          std::vector<Flags>{{"--max-model-len", "36592"}, {"--kv-cache-dtype", "fp8", "--max-model-len", "73184"}});
    // 1.50 of 4.00 GiB are missing in 15 % of a card of unknown size.
    const Diagnosis found =
        diagnosis_of("INFO [utils.py:1] non-default args: {'model': 'org/x', 'gpu_memory_utilization': 0.8}\n"
                     "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV "
                     "cache is needed, which is larger than the available KV cache memory (2.50 GiB).\n");
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[1].flags == Flags{"--gpu-memory-utilization", "0.95"});
    CHECK(found.actions[1].summary.find("enough on a card of 10 GiB or more") != std::string::npos);
}

TEST_CASE("vLLM: no smaller cache makes up for weights that fill the share", "[diagnose]") {
    const std::string log = "INFO 09-12 [gpu_model_runner.py:2032] Model loading took 14.2488 GiB and 8.2 seconds\n"
                            "INFO 09-12 [gpu_worker.py:276] Available KV cache memory: -1.32 GiB\n"
                            "ERROR 09-12 [core.py:700] ValueError: No available memory for the cache blocks. Try "
                            "increasing `gpu_memory_utilization` when initializing the engine.\n";
    const auto quant_first = [](const Diagnosis& found) {
        return found.actions.size() == 2 && found.actions[0].kind == "quant" &&
               found.actions[1].flags == Flags{"--tensor-parallel-size", "2"};
    };
    CHECK(quant_first(diagnosis_of(log)));
    CHECK(quant_first(diagnosis_of(log, "24GB")));     // 5 % of 24576 MiB are 1229, and 1352 are missing
    const Diagnosis large = diagnosis_of(log, "80GB"); // 4096 - 1351.7
    REQUIRE(large.actions.size() == 2);
    CHECK(large.actions[0].flags == Flags{"--gpu-memory-utilization", "0.95"});
    CHECK(large.actions[0].summary.find("leaves 2744 MiB for the cache") != std::string::npos);
}

TEST_CASE("SGLang: the share that leaves a cache, where one does", "[diagnose]") {
    // What the weights leave, less 1 - share of what was free before them (model_runner.py).
    const auto log = [](const std::string& before, const std::string& after) {
        return "[2025-06-11 03:12:01 TP0] server_args=ServerArgs(model_path='org/x', mem_fraction_static=0.85, "
               "tp_size=1)\n[2025-06-11 03:12:01 TP0] Load weight begin. avail mem=" +
               before + " GB\n[2025-06-11 03:12:09 TP0] Load weight end. type=X, avail mem=" + after +
               " GB, mem usage=27.70 GB.\nRuntimeError: Not enough memory. Please try to increase "
               "--mem-fraction-static.\n";
    };
    const Diagnosis near = diagnosis_of(log("31.21", "3.51")); // 3.51 - 3.121 GB
    REQUIRE(near.actions.size() == 2);
    CHECK(near.actions[0].flags == Flags{"--mem-fraction-static", "0.90"});
    CHECK(near.actions[0].summary.find("leaves 398 MiB for the cache") != std::string::npos);
    const Diagnosis far = diagnosis_of(log("29.21", "1.51")); // 1.51 - 2.921 GB
    CHECK(summary_has(far, "the weights leave 1546 MiB of 29911 MiB, and a share of 0.85 keeps 4487 MiB"));
    REQUIRE(far.actions.size() == 2);
    CHECK(far.actions[0].kind == "quant");
    CHECK(far.actions[1].flags == Flags{"--tp-size", "2"});
    const Diagnosis silent = diagnosis_of("[2025-06-11 TP0] Load weight end. type=X, avail mem=1.91 GB, mem "
                                          "usage=21.30 GB.\nRuntimeError: Not enough memory. Please try to increase "
                                          "--mem-fraction-static.\n"); // 1.91 - 2.32 GB
    REQUIRE_FALSE(silent.actions.empty());
    CHECK(silent.actions[0].kind == "quant");
}

TEST_CASE("Vulkan's limit of a buffer that the weights meet is nothing of the cache", "[diagnose]") {
    const std::string log =
        "print_info: file type   = Q8_0\nload_tensors: offloaded 33/33 layers to GPU\n"
        "ggml_vulkan: Device memory allocation of size 4509715660 failed.\n"
        "ggml_vulkan: Requested buffer size exceeds device memory allocation limit: ErrorOutOfDeviceMemory\n"
        "alloc_tensor_range: failed to allocate Vulkan0 buffer of size 4509715660\n"
        "llama_model_load: error loading model: unable to allocate Vulkan0 buffer\n";
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.cause == FailureCause::per_buffer_limit);
    CHECK(summary_has(found, "A single buffer of the weights (4301 MiB)"));
    CHECK(flags_of(found) == std::vector<Flags>{{"GGML_VK_FORCE_MAX_ALLOCATION_SIZE=1073741824"}, {"-ngl", "16"}});
}

TEST_CASE("llama.cpp of 2023 places no layers by itself", "[diagnose]") {
    const std::string log = "llama_model_load_internal: format     = ggjt v3 (latest)\n"
                            "llama_model_load_internal: n_layer    = 60\n"
                            "llama_model_load_internal: total VRAM used: 17223 MB\n"
                            "CUDA error 2 at ggml-cuda.cu:1782: out of memory\n";
    const Diagnosis found = diagnosis_of(log);
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[1].flags == Flags{"-ngl", "30"});
    CHECK(found.actions[1].summary.find("each takes about 287 MiB") != std::string::npos); // 17223 / 60
    CHECK(any_has(found.arithmetic, "needed in all, by the runtime: 17223 MiB"));
    const Diagnosis known = diagnosis_of(log, "12GB");
    REQUIRE(known.actions.size() == 2);
    CHECK(known.actions[1].flags == Flags{"-ngl", "34"}); // 0.8 * 12288 / 17223 of 60
    // The build's number says as much: --fit came with b7413 (data/runtimes.json).
    const auto error = [](const std::string& build) {
        return "build: " + build +
               " (0123abcd) with cc for x86_64-linux-gnu\nllama_model_loader: loaded meta data "
               "with 29 key-value pairs and 292 tensors from x.gguf (version GGUF V3 (latest))\nload_tensors: "
               "offloaded 33/33 layers to GPU\nllama_model_load: error loading model: unable to allocate CUDA0 "
               "buffer\n";
    };
    CHECK(flags_of(diagnosis_of(error("6000"))).back() == Flags{"-ngl", "16"});
    CHECK(flags_of(diagnosis_of(error("7500"))).back() == Flags{"--fit", "on"});
}

TEST_CASE("weights and cache that no card of that name holds", "[diagnose]") {
    const std::string log = "  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes\n"
                            "llm_load_tensors: CUDA0 buffer size = 9070.00 MiB\n"
                            "llama_new_context_with_model: n_ctx = 65536\n"
                            "llama_kv_cache_init: CUDA0 KV buffer size = 10250.00 MiB\n"
                            "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4404019200\n"
                            "llama_new_context_with_model: failed to allocate compute buffers\n";
    const Diagnosis found = diagnosis_of(log); // cards of that name have 8 and 12 GiB
    CHECK(found.cause == FailureCause::kv_too_large);
    CHECK(summary_has(found, "weights and cache alone take more than the 12288 MiB that such a card has"));
    REQUIRE_FALSE(found.actions.empty());
    // 19320 - 12288, and 640 for the driver, 512 for the buffer and 128: 81 % of the cache
    CHECK(found.actions[0].flags == Flags{"-c", "12288"});
    for (const DiagnosisAction& action : found.actions) CHECK(action.kind != "cache_type"); // half is not enough
    CHECK(any_has(found.notes, "for --gpu, it is one of rtx3060-8gb or rtx3060-12gb"));
}

TEST_CASE("KoboldCpp prints its settings once, as Python has them", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("Welcome to KoboldCpp - Version 1.76\n"
                     "Namespace(blasbatchsize=256, config=None, contextsize=65536, gpulayers=43, model=None, "
                     "model_param='C:\\\\AI\\\\Mistral-Nemo-Instruct-2407-Q6_K.gguf', quantkv=0)\n"
                     "  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes\n"
                     "llm_load_tensors: offloaded 41/41 layers to GPU\n"
                     "llm_load_tensors: CUDA0 buffer size = 9070.00 MiB\n"
                     "llama_kv_cache_init: CUDA0 KV buffer size = 10250.00 MiB\n"
                     "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4404019200\n"
                     "llama_new_context_with_model: failed to allocate compute buffers\n");
    CHECK(found.runtime == LogRuntime::koboldcpp);
    CHECK(found.model_name == "Mistral-Nemo-Instruct-2407-Q6_K.gguf");
    REQUIRE(found.figure("n_ctx") != nullptr);
    CHECK(found.figure("n_ctx")->value == 65536);
    REQUIRE(found.figure("n_ubatch") != nullptr);
    CHECK(found.figure("n_ubatch")->value == 256);
    REQUIRE_FALSE(found.actions.empty());
    CHECK(found.actions[0].flags == Flags{"--contextsize", "12288"});
    CHECK(any_has(found.notes, "on Windows the driver put part of it into shared memory"));
}

TEST_CASE("another process is the cause, however the pieces that it leaves lie", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0 has a total capacity of 11.76 GiB of which 28.06 MiB "
        "is free. Process 4242 has 8.70 GiB memory in use. Including non-PyTorch memory, this process has 3.02 GiB "
        "memory in use. Of the allocated memory 2.71 GiB is allocated by PyTorch, and 68.30 MiB is reserved by PyTorch "
        "but unallocated. If reserved but unallocated memory is large try setting\n");
    CHECK(found.cause == FailureCause::other_process);
    REQUIRE_FALSE(found.actions.empty());
    CHECK(found.actions[0].kind == "other_process");
}

TEST_CASE("a check of the runtime's own comes before anything is loaded", "[diagnose]") {
    CHECK(diagnosis_of("ValueError: Free memory on device cuda:0 (1.9/23.6 GiB) on startup is less than desired GPU "
                       "memory utilization (0.9, 21.2 GiB). Decrease GPU memory utilization or reduce\n")
              .at_check);
    CHECK_FALSE(diagnosis_of(vllm_profile + too_few_tokens("131072", "40304")).at_check);
}

TEST_CASE("a Mac's memory is known by what its GPU may use", "[diagnose]") {
    const auto found = [](const std::string& megabytes) {
        return diagnosis_of("ggml_metal_device_init: recommendedMaxWorkingSetSize  = " + megabytes +
                            " MB\nllama_context: n_ctx = 32768\nllama_kv_cache: Metal KV buffer size = 4096.00 MiB\n"
                            "main: model loaded\nerror: Insufficient Memory "
                            "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n");
    };
    // 12124 MiB of newer releases and 10922 of older ones are 16 GiB; 14336 leave 2 GiB for macOS.
    const Flags wanted{"sudo", "sysctl", "iogpu.wired_limit_mb=14336"};
    for (const std::string& megabytes : {std::string("12713.12"), std::string("11453.25")}) {
        REQUIRE(found(megabytes).actions.size() == 2);
        CHECK(found(megabytes).actions[1].flags == wanted);
    }
    CHECK(found("12000.00").actions[1].flags.empty()); // of no Mac
}

TEST_CASE("flags of a program that nobody knows are said to be llama.cpp's", "[diagnose]") {
    constexpr std::string_view note = "the flags are llama.cpp's";
    const Diagnosis unknown = diagnosis_of("Error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n");
    CHECK(unknown.oom);
    CHECK(any_has(unknown.notes, note));
    CHECK_FALSE(any_has(diagnosis_of("llama_new_context_with_model: failed to allocate KV cache\n").notes, note));
}

TEST_CASE("a container's driver does not know what the process holds; PyTorch does", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 "
        "GiB of which 19.88 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the "
        "allocated memory 77.32 GiB is allocated by PyTorch, with 108.00 MiB allocated in private pools (e.g., CUDA "
        "Graphs), and 350.95 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory\n");
    CHECK(found.cause == FailureCause::generation_growth);
}

TEST_CASE("a retry without pipelining that goes on is no failure", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "1.06.520.077 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 51748.72 MiB on device 1: cudaMalloc "
        "failed: out of memory\n1.06.520.084 E ggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size "
        "54262464512\n1.06.520.086 E graph_reserve: failed to allocate compute buffers\n1.06.520.107 W sched_reserve: "
        "compute buffer allocation failed, retrying without pipeline parallelism\n1.07.304.130 I srv    load_model: "
        "initializing, n_slots = 1, n_ctx_slot = 50176, kv_unified = 'false'\n");
    CHECK_FALSE(found.oom);
    CHECK(any_has(found.notes, "memory was refused once, and the runtime went on without it"));
}

TEST_CASE("vLLM's sampler fails in its dummy run", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "(VllmWorker rank=1 pid=7) ERROR 05-10 [multiproc_executor.py:470]   File \"/opt/site-packages/vllm/v1/worker/"
        "gpu_model_runner.py\", line 1544, in _dummy_sampler_run\n(VllmWorker rank=1 pid=7) ERROR 05-10 "
        "[multiproc_executor.py:470] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 1 "
        "has a total capacity of 47.41 GiB of which 382.00 MiB is free. Including non-PyTorch memory, this process has "
        "47.03 GiB memory in use. Of the allocated memory 45.10 GiB is allocated by PyTorch, and 210.11 MiB is "
        "reserved "
        "by PyTorch but unallocated.\n");
    CHECK(flags_of(found) == std::vector<Flags>{{"--max-num-seqs", "64"}, {"--gpu-memory-utilization", "0.85"}});
}

TEST_CASE("where some layers are in RAM already, one more makes room", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "  - CUDA0   : NVIDIA GeForce RTX 3090 (24576 MiB, 23859 MiB free)\n"
        "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from x.gguf (version GGUF V3 "
        "(latest))\nload_tensors: offloaded 5/62 layers to GPU\nload_tensors: CUDA0 model buffer size = 22437.99 MiB\n"
        "llama_context: n_ctx = 2048\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 3214.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\nllama_init_from_model: failed to initialize the context: failed to allocate "
        "buffer for kv cache\n");
    // 3214 - (23859 - 22438) MiB are missing, and a layer takes 22438 / 5
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[1].flags == Flags{"-ngl", "4"});
}

TEST_CASE("LM Studio's own estimate is a figure", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "[2026-07-23 10:21:52.880] [error] [LM Studio] Model load size estimate with raw num offload layers 'max' and "
        "context length '8192':\n  Model: 14.87 GB\n  Context: 936.03 MB\n  Total: 15.81 GB\n"
        "[2026-07-23 10:21:54.243] [error] [LMSInternal][Client=LM Studio][Endpoint=loadModel] Error in channel "
        "handler: Error: error loading model: unable to allocate Vulkan0 buffer\n");
    CHECK(found.runtime == LogRuntime::lmstudio);
    REQUIRE(found.figure("required") != nullptr);
    CHECK(found.figure("required")->value / 10'000'000 == 1581);
    REQUIRE(found.figure("n_ctx") != nullptr);
    CHECK(found.figure("n_ctx")->value == 8192);
}

TEST_CASE("a pool of kernels is nothing of the weights; Ollama is told of layers", "[diagnose]") {
    const std::string layers = "msg=\"offloaded 25/25 layers to GPU\"\n";
    const Diagnosis pool = diagnosis_of("time=2025-08-13T16:54:35.163+02:00 level=INFO source=ggml.go:393 " + layers +
                                        "ROCm error: out of memory\n  current device: 0, in function alloc at "
                                        "ggml-cuda.cu:420\n  ggml_cuda_device_malloc(&ptr, look_ahead_size, device)\n");
    CHECK(pool.stage == FailureStage::generation);
    CHECK_FALSE(pool.time_known);
    CHECK(pool.device == "ROCm0");
    const Diagnosis weights =
        diagnosis_of("time=2025-08-13T16:54:35.163+02:00 level=INFO source=ggml.go:393 " + layers +
                     "Error: llama runner process has terminated: error loading model: unable to "
                     "allocate backend buffer\n");
    CHECK(weights.stage == FailureStage::weights);
    REQUIRE(weights.actions.size() == 2);
    CHECK(weights.actions[1].flags == Flags{"/set parameter num_gpu 12"}); // half of them
}
