// What systems and shells say of a program that they ended, the programs' own words for missing memory of the computer,
// and messages of programs that are known by nothing else.
#include "catch.hpp"
#include "support/diagnosed.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// A log that only says that somebody killed the program: no failure of memory is shown, but it may have been one.
bool is_only_noted(const std::string& log) {
    const Diagnosis found = diagnosis_of(log);
    return !found.oom && found.cause == FailureCause::none && notes(found, "dmesg");
}

std::string killed(const std::string& name, const std::string& reason) {
    return "[12345.789012] " + reason + ": Killed process 4242 (" + name +
           ") total-vm:48123456kB, anon-rss:31234567kB, file-rss:1024kB, shmem-rss:2048kB, UID:1000 pgtables:62000kB\n";
}

} // namespace

TEST_CASE("the kernel's line names the program and what it held", "[diagnose]") {
    const Diagnosis found = diagnosis_of(killed("llama-server", "Out of memory"));
    CHECK(found.oom);
    CHECK(found.runtime == LogRuntime::llama_cpp);
    CHECK(found.stage == FailureStage::host);
    CHECK(figure(found, "own") == 31237639ULL * 1024); // the three sizes, each in units of 1024 bytes
    CHECK(found_in(killed("ollama", "Out of memory")) == "ollama host host_memory -");
    CHECK(found_in(killed("VLLM::EngineCor", "Out of memory")) == "vllm host host_memory -");
    CHECK(found_in(killed("python3", "Out of memory")) == "unknown host host_memory -");
    const Diagnosis group = diagnosis_of(killed("llama-server", "Memory cgroup out of memory"));
    CHECK(group.stage == FailureStage::host);
    CHECK(group.runtime == LogRuntime::llama_cpp);
    CHECK(notes(group, "control group"));
    CHECK_FALSE(notes(found, "control group"));
    CHECK(
        found_in("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/x,task=llama-server,pid=1,uid=0\n") ==
        "llama.cpp host host_memory -");
    CHECK(found_in("Out of memory: Kill process 18694 (llama-server) score 246 or sacrifice child\n") ==
          "llama.cpp host host_memory -");
    CHECK(found_in("systemd[1]: ollama.service: A process of this unit has been killed by the OOM killer.\n") ==
          "unknown host host_memory -");
    CHECK(found_in("systemd[1]: ollama.service: Failed with result 'oom-kill'.\n") == "unknown host host_memory -");
}

TEST_CASE("a shell's word for a killed program tells no reason", "[diagnose]") {
    CHECK(is_only_noted("Killed\n"));
    CHECK(is_only_noted("Killed: 9\n"));
    CHECK(is_only_noted("Loading checkpoint shards:  33%|###       | 1/3 [00:11<00:22, 11.41s/it]Killed\n"));
    CHECK(is_only_noted("./run.sh: line 3:  1234 Killed                  python x.py\n"));
    CHECK(is_only_noted("zsh: killed     python x.py\n"));
    CHECK(is_only_noted("vllm-1 exited with code 137\n"));
    CHECK_FALSE(notes(diagnosis_of("Killed the old server, starting anew\n"), "dmesg"));
    CHECK_FALSE(notes(diagnosis_of("exited with code 1370\n"), "dmesg"));
}

TEST_CASE("Python's and PyTorch's words for the computer's memory", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to "
        "allocate 117440512 bytes. Error code 12 (Cannot allocate memory)\n");
    CHECK(found.runtime == LogRuntime::pytorch);
    CHECK(found.stage == FailureStage::host);
    CHECK(found.cause == FailureCause::host_memory);
    CHECK(figure(found, "requested") == 117440512);
    CHECK(found_in(
              "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you "
              "tried to allocate 2097152 bytes. Error code 12 (Cannot allocate memory)\n") ==
          "pytorch host host_memory CPU");
    CHECK(found_in("Traceback (most recent call last):\nMemoryError\n") == "unknown host host_memory -");
    const Diagnosis array = diagnosis_of("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 4.00 GiB for an "
                                         "array with shape (32768, 32768) and data type float32\n");
    CHECK(array.stage == FailureStage::host);
    CHECK(figure(array, "requested") == 4 * gib);
    CHECK(found_in("OSError: The paging file is too small for this operation to complete. (os error 1455)\n") ==
          "unknown host host_memory -");
}

TEST_CASE("koboldcpp prints the options that it has understood", "[diagnose]") {
    const Diagnosis found = diagnosis_of("Welcome to KoboldCpp - Version 1.76\n"
                                         "Namespace(model='C:\\\\AI\\\\Mistral-Nemo-Instruct-2407-Q6_K.gguf', "
                                         "contextsize=65536, gpulayers=43, quantkv=0)\n"
                                         "llm_load_tensors:      CUDA0 buffer size =  9070.00 MiB\n"
                                         "llama_kv_cache_init:      CUDA0 KV buffer size = 10250.00 MiB\n"
                                         "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4200.00 MiB on device "
                                         "0: cudaMalloc failed: out of memory\n"
                                         "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4404019200\n"
                                         "llama_new_context_with_model: failed to allocate compute buffers\n");
    CHECK(found.runtime == LogRuntime::koboldcpp);
    CHECK(found.model_name == "Mistral-Nemo-Instruct-2407-Q6_K.gguf");
    CHECK(figure(found, "n_ctx") == 65536);
    REQUIRE(found.figure("n_ctx") != nullptr);
    CHECK(found.figure("n_ctx")->line == 2);
    const Diagnosis by_param =
        diagnosis_of("Namespace(admin=False, contextsize=8192, model='', model_param='/m/x.gguf')\n"
                     "llama_kv_cache_init: failed to allocate buffer for kv cache\n");
    CHECK(by_param.model_name == "x.gguf");
    CHECK(figure(by_param, "n_ctx") == 8192);
}

TEST_CASE("checks before anything is loaded are told apart from loading", "[diagnose]") {
    CHECK(diagnosis_of("ValueError: Free memory on device (18.24/23.53 GiB) on startup is less than desired GPU memory "
                       "utilization (0.9, 21.18 GiB). Decrease GPU memory utilization.\n")
              .at_check);
    CHECK(diagnosis_of(
              "[LM STUDIO SERVER] Error: Model loading was stopped due to insufficient system resources. Under the "
              "current settings, this model requires approximately 38.2 GB of memory\n")
              .at_check);
    CHECK_FALSE(diagnosis_of("alloc_tensor_range: failed to allocate CUDA0 buffer of size 8589934592\n"
                             "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n")
                    .at_check);
}

TEST_CASE("other devices and programs run out of memory in words of their own", "[diagnose]") {
    const std::string weights = "load_tensors: offloaded 33/33 layers to GPU\n";
    CHECK(found_in(weights + "CANN error: EL0004: [PID: 1] 2025-06-01 Failed to allocate memory.\n") ==
          "llama.cpp weights weights_too_large CANN0");
    CHECK(found_in(
              "ggml_backend_cann_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: aclrtMalloc failed: x\n"
              "llama_model_load: error loading model: unable to allocate CANN0 buffer\n") ==
          "llama.cpp weights weights_too_large CANN0");
    CHECK(found_in(weights +
                   "ggml_opencl: clCreateBuffer(context, flags, size, NULL, &err) error -4 at ggml-opencl.cpp:1\n") ==
          "llama.cpp weights weights_too_large OpenCL");
    CHECK(found_in("ggml_opencl: clCreateBuffer(context, flags, size, NULL, &err) error -61 at ggml-opencl.cpp:1\n") ==
          "llama.cpp per_buffer_limit per_buffer_limit OpenCL");
    CHECK(found_in("RuntimeError: [malloc_or_wait] Unable to allocate 1073741824 bytes.\n") ==
          "mlx generation generation_growth Metal");
    CHECK(found_in("ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfHostMemory\n") ==
          "llama.cpp host host_memory -");
    // candle and what is built on it; a driver's code of CUDA's and of HIP's
    CHECK(diagnosis_of("Error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")\n").oom);
    CHECK(diagnosis_of("hipErrorOutOfMemory: out of memory\n").oom);
    // Of a program that has come up, an exception counts
    CHECK(found_in("EngineCore\nINFO:     Application startup complete.\nRuntimeError: Triton Error [CUDA]: out of "
                   "memory\n") == "vllm generation generation_growth -");
}

TEST_CASE("what cuBLAS, MLC, TGI and Windows say when memory is missing", "[diagnose]") {
    const std::string up = "main: server is listening on http://127.0.0.1:8080\n";
    CHECK(found_in(up + "CUDA error: CUBLAS_STATUS_ALLOC_FAILED\n  current device: 0, in function cublas_handle at "
                        "ggml-cuda/common.cuh:1014\n") == "llama.cpp generation generation_growth CUDA0");
    CHECK(found_in("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n") ==
          "pytorch generation generation_growth -");
    CHECK(found_in(up + "cuBLAS error 3 at /src/ggml-cuda.cu:8456\ncurrent device: 0\n") ==
          "llama.cpp generation generation_growth CUDA0");
    CHECK(found_in(up + "cuBLAS error 15 at /src/ggml-cuda.cu:8456\n") == "none"); // not supported
    CHECK(found_in(up + "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED\n") == "none");
    const Diagnosis mlc = diagnosis_of("TVMError: Insufficient GPU memory error: The available single GPU memory is "
                                       "10240.000 MB, which is less than the "
                                       "sum of model weight size (12000.0 MB) and temporary buffer size (500.0 MB).\n");
    CHECK(mlc.stage == FailureStage::weights);
    CHECK(figure(mlc, "free") == 10240 * mib);
    CHECK(figure(mlc, "weights") == 12000 * mib);
    CHECK(found_in("ERROR warmup: Server error: Not enough memory to handle 4145 prefill tokens. You need to decrease "
                   "`--max-batch-prefill-tokens`\n") == "pytorch compute compute_too_large -");
    CHECK(found_in(
              "llama_model_load: error loading model: MapViewOfFile failed: Not enough memory resources are available "
              "to process this command.\n") == "llama.cpp host host_memory -");
}

TEST_CASE("an exception that ends the program is no failure of another kind", "[diagnose]") {
    CHECK(found_in("ggml_vulkan: Found 1 Vulkan devices:\nmain: server is listening on http://127.0.0.1:8080\n"
                   "terminate called after throwing an instance of 'vk::OutOfDeviceMemoryError'\n"
                   "  what():  vk::Queue::submit: ErrorOutOfDeviceMemory\n") ==
          "llama.cpp generation generation_growth Vulkan0");
    CHECK(diagnosis_of("terminate called after throwing an instance of 'std::runtime_error'\n"
                       "  what():  [TM][ERROR] CUDA runtime error: out of memory /x/allocator.h:246\n")
              .oom);
    CHECK(found_in("Error: Metal error Command buffer error: Insufficient Memory "
                   "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n") ==
          "unknown generation generation_growth Metal"); // candle
    CHECK(found_in("[ONNXRuntimeError] : 6 : bfc_arena.cc:376 Failed to allocate memory for requested buffer of size "
                   "1073741824\n") == "unknown weights weights_too_large -");
}

TEST_CASE("PyTorch with CUDA's own pool: figures on lines of their own", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out "
                     "of memory)\nCurrently allocated     : 9.50 GiB\nRequested               : 640.00 "
                     "MiB\nDevice limit            : 11.50 GiB\nFree (according to CUDA): 7.50 MiB\n");
    CHECK(found.runtime == LogRuntime::pytorch);
    CHECK(found.device == "GPU 0");
    CHECK(figure(found, "requested") == 640 * mib);
    CHECK(figure(found, "own") == 9728 * mib);
    CHECK(figure(found, "total") == 11776 * mib);
    CHECK(figure(found, "free") == 7864320);
}

TEST_CASE("MLX warns before it fails", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("[WARNING] Generating with a model that requires 48000 MB which is close to the "
                     "maximum recommended size of 49152 MB. This can be slow.\n");
    CHECK_FALSE(found.oom);
    CHECK(found.runtime == LogRuntime::mlx);
    CHECK(figure(found, "weights") == 48000 * mib);
    CHECK(figure(found, "total") == 49152 * mib);
    CHECK(notes(found, "MLX warned"));
}
