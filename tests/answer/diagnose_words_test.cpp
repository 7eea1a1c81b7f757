// Words of programs that few logs have, and words that only look like a failure of memory.
#include "catch.hpp"
#include "support/diagnosed.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using namespace vramfit::test;

TEST_CASE("who watches over memory says whom it ended", "[diagnose]") {
    CHECK(found_in("            \"OOMKilled\": true,\n") == "unknown host host_memory -");
    CHECK(found_in("            \"OOMKilled\": false,\n            \"ExitCode\": 1,\n") == "none");
    CHECK(found_in("    Last State:  Terminated\n      Reason:    OOMKilled\n") == "unknown host host_memory -");
    CHECK(found_in(
              "Jun 01 10:00:00 pc systemd-oomd[900]: Killed /user.slice/user-1000.slice/session-2.scope due to memory "
              "pressure for /user.slice being 80.00% > 50.00% for > 20s\n") == "unknown host host_memory -");
    const Diagnosis early = diagnosis_of("Jun 01 10:00:00 pc earlyoom[700]: sending SIGTERM to process 1234 uid 1000 "
                                         "\"llama-server\": badness 900, VmRSS 30000 MiB\n");
    CHECK(early.runtime == LogRuntime::llama_cpp);
    CHECK(early.stage == FailureStage::host);
    CHECK(figure(early, "own") == 30000 * mib);
    CHECK(found_in("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n") ==
          "unknown host host_memory -");
    // These only guess, or tell a signal
    for (const char* const line : {"ERROR: Worker (pid:1234) was sent SIGKILL! Perhaps out of memory?\n",
                                   "  Signal 9 (SIGKILL) received by PID 4242\n",
                                   "RuntimeError: DataLoader worker (pid 123) is killed by signal: Killed.\n"}) {
        CHECK(found_in(line) == "none");
        CHECK(notes(diagnosis_of(line), "dmesg"));
    }
}

TEST_CASE("Ollama's panic names the size that was refused", "[diagnose]") {
    const std::string head =
        "panic: insufficient memory - required allocations: {InputWeights:682622976A CPU:{Name:CPU "
        "UUID: Weights:[0A 0A] Cache:[0A 0A] Graph:0A} GPUs:[{Name:CUDA0 UUID:GPU-3F1 ";
    const Diagnosis weights = diagnosis_of(head + "Weights:[104857600A 209715200F] Cache:[0U 0U] Graph:0U}]}\n");
    CHECK(weights.runtime == LogRuntime::ollama);
    CHECK(weights.stage == FailureStage::weights);
    CHECK(weights.device == "CUDA0");
    CHECK(figure(weights, "requested") == 200 * mib);
    CHECK(found_in(head + "Weights:[104857600A 209715200A] Cache:[1048576A 2097152F] Graph:0U}]}\n") ==
          "ollama kv_cache kv_too_large CUDA0");
    CHECK(found_in(head + "Weights:[104857600A 209715200A] Cache:[1048576A 2097152A] Graph:1212612608F}]}\n") ==
          "ollama compute compute_too_large CUDA0");
    // It tries again with fewer layers
    CHECK(found_in("msg=\"insufficient memory - required allocations: {InputWeights:1F}\"\n") == "none");
}

TEST_CASE("Ollama of 2023 only suspects that memory is missing", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("Error: llama runner exited, you may not have enough available memory to run this model\n");
    CHECK_FALSE(found.oom);
    CHECK(found.runtime == LogRuntime::ollama);
    CHECK(found.summary.find("suspects memory") != std::string::npos);
}

TEST_CASE("an error that is told twice, codes that are left out, Vulkan's older words", "[diagnose]") {
    const Diagnosis twice = diagnosis_of(
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 24289.03 MiB on device 0: cudaMalloc failed: out of "
        "memory\nllama_model_load: error loading model: unable to allocate backend buffer\n  what():  unable to "
        "allocate backend buffer\n");
    CHECK(twice.device == "CUDA0");
    CHECK(figure(twice, "requested") / mib == 24289);
    CHECK(
        found_in("libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command buffer "
                 "execution failed: Insufficient Memory\n") == "mlx generation generation_growth -");
    const Diagnosis vulkan = diagnosis_of("ggml_vulkan: Memory allocation of size 638668800 failed.\n");
    CHECK(vulkan.oom);
    CHECK(vulkan.device == "Vulkan0");
    CHECK(figure(vulkan, "requested") == 638'668'800);
}

TEST_CASE("a file that is only called a model has its folder's name", "[diagnose]") {
    const auto from = [](const std::string& path) {
        return diagnosis_of(
            "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from " + path +
            " (version GGUF V3 (latest))\nllama_init_from_model: failed to allocate buffer for kv cache\n");
    };
    CHECK(from("/data/models/Qwen3-4B-Q4_K_M/model.gguf").model_name == "Qwen3-4B-Q4_K_M");
    CHECK(from("/data/models/Qwen3-4B-Q4_K_M/model.gguf").quant == "Q4_K_M");
    CHECK(from("model.gguf").model_name == "model.gguf");
    CHECK(from("/model.gguf").model_name == "model.gguf");
    CHECK(from("/home/jo/model.gguf").model_name == "model.gguf"); // the folder is a person's
    CHECK(from("C:\\Users\\jo\\model.gguf").model_name == "model.gguf");
    CHECK(from("Qwen3-4B/model.gguf").model_name == "Qwen3-4B");
}

TEST_CASE("the printed sum of the cache counts before a list that lost its beginning", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("llama_kv_cache_init:     CUDA11 KV buffer size =   144.00 MiB\n"
                     "llama_kv_cache_init:     CUDA12 KV buffer size =   144.00 MiB\n"
                     "llama_new_context_with_model: KV self size  = 2196.00 MiB, c^KV (f16): 2196.00 "
                     "MiB, kv^T: not used\n");
    CHECK(figure(found, "kv_cache") == 2196 * mib);
}

TEST_CASE("SGLang's pool, TensorRT-LLM's executor", "[diagnose]") {
    CHECK(
        found_in("[2025-06-11 03:12:09 TP0] Prefill out of memory. Try to lower your batch size.\nTry to allocate 8192 "
                 "tokens.\n") == "sglang kv_cache kv_too_large -");
    CHECK(found_in("RuntimeError: Out of memory. Try to lower your batch size.\n") == "sglang kv_cache kv_too_large -");
    const std::string executor =
        "RuntimeError: Executor creation failed due to insufficient GPU memory.\n\nThe following "
        "component could not be created: ";
    CHECK(found_in(executor + "Model\n") == "tensorrt-llm weights weights_too_large -");
    CHECK(found_in(executor + "Sampler\n") == "tensorrt-llm compute compute_too_large -");
    const Diagnosis cache = diagnosis_of(
        executor + "Initial KV cache (temporary for KV cache size estimation)\nTotal GPU memory (GiB): 23.50\n"
                   "Free GPU memory before component creation attempt (GiB): 3.25\n");
    CHECK(cache.stage == FailureStage::kv_cache);
    CHECK(figure(cache, "total") == 24064 * mib);
    CHECK(figure(cache, "free") == 3328 * mib);
}

TEST_CASE("llama.cpp: a tensor above the limit of a buffer, the computer's memory, a lent device", "[diagnose]") {
    const Diagnosis tensor = diagnosis_of("ggml_backend_alloc_ctx_tensors_from_buft: tensor token_embd.weight is too "
                                          "large to fit in a Vulkan0 buffer (tensor "
                                          "size: 5368709120, max buffer size: 4294967292)\nllama_model_load: error "
                                          "loading model: unable to allocate Vulkan0 "
                                          "buffer\n");
    CHECK(tensor.stage == FailureStage::per_buffer_limit);
    CHECK(tensor.device == "Vulkan0");
    CHECK(figure(tensor, "requested") == 5 * gib);
    CHECK(figure(tensor, "limit") == 4294967292U);
    const Diagnosis aligned =
        diagnosis_of("ggml_aligned_malloc: insufficient memory (attempted to allocate 29500.00 MB)\n");
    CHECK(aligned.cause == FailureCause::host_memory);
    CHECK(figure(aligned, "requested") == 29500 * mib);
    const Diagnosis lent = diagnosis_of(
        "Starting RPC server v3.0.0\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\n");
    CHECK(lent.stage == FailureStage::generation);
    CHECK_FALSE(lent.time_known);
    CHECK(figure(lent, "requested") == 4 * gib);
}

TEST_CASE("errors that may be of memory, and one that is not", "[diagnose]") {
    CHECK(found_in("RuntimeError: Allocation is out of device memory on current platform.\n") ==
          "pytorch generation generation_growth -");
    const Diagnosis unknown = diagnosis_of("Native API failed. Native API returns: -999 (Unknown PI error)\n");
    CHECK_FALSE(unknown.oom);
    CHECK(notes(unknown, "often it is memory"));
    const Diagnosis measured = diagnosis_of("(EngineCore_DP0 pid=2) ERROR x [core.py:718] AssertionError: Error in "
                                            "memory profiling. Initial free memory 20.1 "
                                            "GiB, current free memory 21.4 GiB.\n");
    CHECK(measured.cause == FailureCause::not_memory);
    CHECK(notes(measured, "while vLLM measured"));
}

TEST_CASE("requests that are too long and weights beside the GPU are told, and are no failures", "[diagnose]") {
    const std::string up = "main: server is listening on http://127.0.0.1:8080\n";
    const Diagnosis request =
        diagnosis_of(up + "slot update_slots: id  0 | task 5 | the request exceeds the available context size, try "
                          "increasing it\n");
    CHECK_FALSE(request.oom);
    CHECK(notes(request, "longer than the context"));
    CHECK(notes(
        diagnosis_of("ValueError: This model's maximum context length is 8192 tokens. However, you requested 9000 "
                     "tokens\n"),
        "longer than the context"));
    for (const std::string device : {"meta device", "meta device device"}) {
        const Diagnosis offloaded = diagnosis_of("WARNING:root:Some parameters are on the " + device +
                                                 " because they were offloaded to the cpu and disk.\n");
        CHECK_FALSE(offloaded.oom);
        CHECK(offloaded.runtime == LogRuntime::pytorch);
        CHECK(notes(offloaded, "no room"));
    }
}

TEST_CASE("a refusal that nothing explains is of what comes next", "[diagnose]") {
    const std::string load =
        "load_tensors:      Vulkan0 model buffer size =  4403.49 MiB\nllama_context: n_ctx = 8192\n";
    const std::string end = "terminate called after throwing an instance of 'vk::OutOfDeviceMemoryError'\n"
                            "  what():  vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n";
    CHECK(found_in(load + end) == "llama.cpp kv_cache kv_too_large Vulkan0");
    CHECK(found_in(load + "llama_kv_cache: Vulkan0 KV buffer size = 1024.00 MiB\n" + end) ==
          "llama.cpp compute compute_too_large Vulkan0");
}

TEST_CASE("a worker that was killed, and PyTorch's driver error", "[diagnose]") {
    const std::string died =
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): ";
    CHECK(notes(diagnosis_of(died + "{'EngineCore_DP0': -9}\n"), "dmesg"));
    CHECK_FALSE(notes(diagnosis_of(died + "{'EngineCore_DP0': 1}\n"), "dmesg"));
    CHECK(found_in("RuntimeError: CUDA driver error: out of memory\n") == "pytorch generation generation_growth -");
}
