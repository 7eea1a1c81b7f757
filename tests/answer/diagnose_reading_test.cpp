// Messages of drivers, engines and systems: what is read from them of runtime, stage, device, time and figures.
#include "catch.hpp"
#include "support/diagnosed.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// "runtime stage cause device", "-" for what is not there, "?" behind the stage where its time is not known.
std::string timed(const std::string& log) {
    const Diagnosis d = diagnosis_of(log);
    if (!d.oom) return "none";
    return std::string(name_of(d.runtime)) + " " + std::string(name_of(d.stage)) + (d.time_known ? " " : "? ") +
           std::string(name_of(d.cause)) + " " + (d.device.empty() ? "-" : d.device);
}

const std::string sycl_error = "Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n"
                               "Exception caught at file:/app/ggml/src/ggml-sycl/ggml-sycl.cpp, line:3000\n";
const std::string ready = "main: server is listening on http://127.0.0.1:8080\n";

} // namespace

TEST_CASE("SYCL: the driver's error is one of memory, and tells by where it stands what it was for", "[diagnose]") {
    CHECK(timed("Level-Zero error: 0x70000004 ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY\n" + sycl_error) ==
          "llama.cpp generation? generation_growth SYCL0");
    const std::string weights = "found 1 SYCL devices:\nload_tensors: offloaded 33/33 layers to GPU\n"
                                "load_tensors:        SYCL0 model buffer size =  7605.33 MiB\n";
    const std::string context = weights + "llama_context: n_ctx         = 131072\n";
    CHECK(timed(context + sycl_error) == "llama.cpp kv_cache kv_too_large SYCL0");
    CHECK(timed(context + "llama_kv_cache:      SYCL0 KV buffer size =  4096.00 MiB\n" + sycl_error) ==
          "llama.cpp compute compute_too_large SYCL0");
    CHECK(timed(context + ready + sycl_error) == "llama.cpp generation generation_growth SYCL0");
    CHECK(timed(context + "level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n") ==
          "llama.cpp kv_cache kv_too_large SYCL0");
    // Of two cards the message does not tell which
    CHECK(timed(weights + "load_tensors:        SYCL1 model buffer size =  7605.33 MiB\n" + sycl_error) ==
          "llama.cpp weights weights_too_large -");
    CHECK(timed("llama_context: n_ctx = 8192\nload_tensors: SYCL0 model buffer size = 100.00 MiB\n"
                "Native API failed. Native API returns: -6 (PI_ERROR_OUT_OF_HOST_MEMORY)\n") ==
          "llama.cpp kv_cache kv_too_large SYCL0");
}

TEST_CASE("SYCL: sizes of refusals", "[diagnose]") {
    const Diagnosis pool = diagnosis_of("found 1 SYCL devices:\n" + ready +
                                        "alloc: can't allocate 595636224 Bytes of memory on device/GPU\n");
    CHECK(pool.stage == FailureStage::generation);
    CHECK(pool.device == "SYCL0");
    CHECK(figure(pool, "requested") == 595636224);
    const std::string refused = "ggml_gallocr_reserve_n: failed to allocate SYCL0 buffer of size 4780720128\n"
                                "llama_init_from_model: failed to allocate compute pp buffers\n";
    const Diagnosis modulo = diagnosis_of(
        "ggml_backend_sycl_buffer_type_alloc_buffer: can't malloc 485752832 Bytes memory on device\n" + refused);
    const Diagnosis full = diagnosis_of(
        "ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 4780720128 Bytes of memory on device\n" + refused);
    CHECK(figure(modulo, "requested") == 4780720128);
    CHECK(figure(full, "requested") == 4780720128);
    CHECK(notes(modulo, "modulo 4 GiB"));
    CHECK_FALSE(notes(full, "modulo 4 GiB"));
}

TEST_CASE("a driver that is out of resources does not say of which", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "found 1 SYCL devices:\nNative API failed. Native API returns: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)\n");
    CHECK_FALSE(found.oom);
    CHECK(notes(found, "often it is memory"));
}

TEST_CASE("PyTorch on Intel's, Apple's, AMD's and Ascend's devices", "[diagnose]") {
    CHECK(timed("RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n") ==
          "pytorch generation? generation_growth -");
    CHECK(timed("RuntimeError: HIP error: out of memory\n") == "pytorch generation? generation_growth -");
    CHECK(timed("torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of "
                "15.11 GiB. Of the allocated memory 14.20 GiB is allocated by PyTorch.\n") ==
          "pytorch generation? generation_growth GPU 0");
    CHECK(timed("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total capacity; 59.00 "
                "GiB already allocated; 1.00 GiB free; 59.50 GiB reserved in total by PyTorch)\n") ==
          "pytorch generation? generation_growth NPU 0");
    CHECK(timed("Error: command buffer exited with error status.\n\tThe Metal Performance Shaders operations encoded "
                "on it may not have completed.\n\tError:\n\t(null)\n\tInsufficient Memory "
                "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n") ==
          "pytorch generation? generation_growth MPS");
}

TEST_CASE("MPS: all that the program holds is its own, and the rest of its limit was free", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 380.00 MB, max allowed: "
        "18.13 GB). Tried to allocate 500.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable "
        "upper limit for memory allocations (may cause system failure).\n");
    CHECK(found.oom);
    CHECK(found.runtime == LogRuntime::pytorch);
    CHECK(found.device == "MPS");
    CHECK(figure(found, "requested") == 500 * mib);
    CHECK(figure(found, "own") == 18300 * mib);    // 17.5 * 1024 + 380
    CHECK(figure(found, "total") == 19466939269U); // 18.13 * 2^30, cut off
    CHECK(figure(found, "free") / mib == 265);     // 18565.12 - 18300
    CHECK(figure(found, "others") == 0);
    const Diagnosis limit = diagnosis_of("RuntimeError: Invalid buffer size: 40.00 GiB\n");
    CHECK(limit.stage == FailureStage::per_buffer_limit);
    CHECK(figure(limit, "requested") == 40 * gib);
    CHECK(limit.device == "MPS");
}

TEST_CASE("vLLM: graphs and the sampler's trial run come before it is ready", "[diagnose]") {
    const std::string planned = "(EngineCore_DP0 pid=2) INFO 10-02 10:10:53 [kv_cache_utils.py:868] GPU KV cache size: "
                                "104,912 tokens\n";
    const std::string error =
        "(EngineCore_DP0 pid=2) ERROR 10-02 10:11:12 [core.py:718] torch.OutOfMemoryError: CUDA out of memory. Tried "
        "to "
        "allocate 64.00 MiB. GPU 0 has a total capacity of 23.53 GiB of which 33.25 MiB is free. Including non-PyTorch "
        "memory, this process has 23.48 GiB memory in use. Of the allocated memory 22.60 GiB is allocated by PyTorch, "
        "with 100.00 MiB allocated in private pools (e.g., CUDA Graphs), and 201.33 MiB is reserved by PyTorch but "
        "unallocated.\n";
    const std::string bar = "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|####      | 27/67\n";
    CHECK(timed(planned + bar + error) == "vllm compute compute_too_large GPU 0");
    const Diagnosis captured = diagnosis_of(planned + bar + error);
    CHECK(captured.summary.find("smaller pieces") == std::string::npos); // graphs' pools are no fragments
    CHECK(std::ranges::any_of(captured.actions, [](const DiagnosisAction& action) {
        return std::ranges::find(action.flags, "--enforce-eager") != action.flags.end();
    }));
    CHECK(timed("(EngineCore_DP0 pid=2) ERROR x [core.py:718] Traceback (most recent call last):\n"
                "(EngineCore_DP0 pid=2) ERROR x [core.py:718]     self.model_runner.capture_model()\n" +
                error) == "vllm compute compute_too_large GPU 0");
    // It has come up, with or without a server: what fails then is the work
    for (const std::string& up :
         {std::string("INFO:     Application startup complete.\n"),
          std::string("INFO 10-02 10:11:00 [core.py:218] init engine (profile, create kv cache, "
                      "warmup model) took 33.50 seconds\n")})
        CHECK(timed(planned + bar + up + error) == "vllm generation generation_growth GPU 0");
}

TEST_CASE("vLLM: the sampler's trial run says for how many requests", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "(EngineCore_DP0 pid=2) ERROR 10-02 10:11:12 [core.py:718] RuntimeError: CUDA out of memory occurred "
        "when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or "
        "`gpu_memory_utilization` when initializing the engine.\n");
    CHECK(found.stage == FailureStage::compute);
    CHECK(found.time_known);
    CHECK(figure(found, "max_num_seqs") == 1024);
    CHECK(found.summary.find("1024 requests") != std::string::npos);
    // The tensor's size stands above it
    const Diagnosis with_size = diagnosis_of(
        "(Worker pid=2) ERROR 10-25 13:12:42 [x.py:6] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
        "1.74 "
        "GiB. GPU 3 has a total capacity of 94.97 GiB of which 1.69 GiB is free.\n(Worker pid=2) ERROR 10-25 13:12:42 "
        "[x.py:6] RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests.\n");
    CHECK(with_size.stage == FailureStage::compute);
    CHECK(with_size.time_known);
    CHECK(with_size.device == "GPU 3");
    CHECK(figure(with_size, "requested") == 1868310773U); // 1.74 * 2^30, cut off
}

TEST_CASE("llama.cpp of 2023 fails on its cache until the cache's size is printed", "[diagnose]") {
    const std::string load =
        "llm_load_tensors: offloaded 35/35 layers to GPU\nllm_load_tensors: VRAM used: 4807.05 MiB\n"
        "llama_new_context_with_model: n_ctx      = 32768\n";
    const std::string error = "CUDA error 2 at /build/llama.cpp/ggml-cuda.cu:7973: out of memory\ncurrent device: 0\n";
    CHECK(timed(load + "llama_kv_cache_init: offloading v cache to GPU\n\n" + error) ==
          "llama.cpp kv_cache kv_too_large CUDA0");
    CHECK(timed(load + error) == "llama.cpp kv_cache kv_too_large CUDA0");
    CHECK(timed(load +
                "llama_kv_cache_init: VRAM kv self = 4096.00 MB\n"
                "llama_new_context_with_model: kv self size  = 4096.00 MiB\n"
                "llama_new_context_with_model: VRAM scratch buffer: 2144.00 MiB\n" +
                error) == "llama.cpp compute compute_too_large CUDA0");
}

TEST_CASE("a quantized model that accelerate or exllama cannot place does not fit", "[diagnose]") {
    CHECK(timed("ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to "
                "fit the quantized model.\n") == "pytorch weights weights_too_large -");
    CHECK(timed("RuntimeError: Insufficient VRAM for model and cache\n") == "pytorch weights weights_too_large -");
    CHECK(timed("RuntimeError: Insufficient VRAM in split for model and cache\n") ==
          "pytorch weights weights_too_large -");
}

TEST_CASE("Metal refuses while it works on a prompt", "[diagnose]") {
    const std::string head = "ggml_metal_device_init: GPU name:   Apple M2\n"
                             "ggml_metal_device_init: recommendedMaxWorkingSetSize  = 11453.25 MB\n"
                             "llama_context: n_ctx         = 32768\n"
                             "llama_kv_cache:      Metal KV buffer size =  4096.00 MiB\n";
    const std::string error = "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n"
                              "process_ubatch: failed to compute graph, compute status: -1\n"
                              "llama_decode: failed to decode, ret = -3\n";
    CHECK(timed(head + error) == "llama.cpp generation generation_growth Metal");
    CHECK(timed(head + "common_init_from_params: warming up the model with an empty run - please wait ...\n" + error) ==
          "llama.cpp compute compute_too_large Metal");
    const Diagnosis found = diagnosis_of(head + error);
    CHECK(
        std::ranges::none_of(found.arithmetic, [](const std::string& line) { return line.find("left") != line.npos; }));
}

TEST_CASE("what was left is not told where the weights are not shown", "[diagnose]") {
    const std::string device =
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23900 MiB "
        "free\n";
    const std::string rest =
        "llama_context: n_ctx         = 16384\nllama_kv_cache: CUDA0 KV buffer size =  2048.00 MiB\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1761607680\n"
        "graph_reserve: failed to allocate compute buffers\n";
    const Diagnosis unknown = diagnosis_of(device + rest);
    CHECK(unknown.summary.find("left") == std::string::npos);
    CHECK(unknown.cause == FailureCause::compute_too_large);
    const Diagnosis known = diagnosis_of(device + "load_tensors: CUDA0 model buffer size = 20480.00 MiB\n" + rest);
    CHECK(known.summary.find("1372 MiB were left") != std::string::npos); // 23900 - 20480 - 2048
}
