// A message of each format and era, alone: what it says of stage, cause, device and memory.
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

/// "runtime stage cause device requested-in-MiB", "-" for what is not there.
std::string found_in(const std::string& log) {
    const Diagnosis d = diagnose(log_stream(log), {});
    const LogFigure* asked = d.figure("requested");
    return std::string(name_of(d.runtime)) + " " + std::string(name_of(d.stage)) + " " + std::string(name_of(d.cause)) +
           " " + (d.device.empty() ? "-" : d.device) + " " +
           (asked == nullptr ? "-" : std::to_string(asked->value / mib));
}

std::uint64_t figure_in(const std::string& log, std::string_view name) {
    const Diagnosis d = diagnose(log_stream(log), {});
    const LogFigure* figure = d.figure(name);
    return figure == nullptr ? 0 : figure->value;
}

const std::string ready = "main: server is listening on http://127.0.0.1:8080\n";

} // namespace

TEST_CASE("failures of llama.cpp, 2023 to 2026", "[diagnose]") {
    CHECK(found_in("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 1: cudaMalloc failed: "
                   "out of memory\n"
                   "llama_kv_cache_init: failed to allocate buffer for kv cache\n") ==
          "llama.cpp kv_cache kv_too_large CUDA1 2048");
    CHECK(found_in("alloc_tensor_range: failed to allocate ROCm0 buffer of size 8589934592\n"
                   "llama_model_load: error loading model: unable to allocate ROCm0 buffer\n") ==
          "llama.cpp weights weights_too_large ROCm0 8192");
    CHECK(found_in("ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1073741824\n"
                   "llama_new_context_with_model: failed to allocate compute buffers\n") ==
          "llama.cpp compute compute_too_large CUDA0 1024");
    CHECK(found_in(ready + "ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 10345253120\n"
                           "llama_kv_cache_update_impl: failed to allocate compute buffers\n") ==
          "llama.cpp generation generation_growth CUDA1 9866");
    CHECK(found_in(ready + "CUDA error: out of memory\n  current device: 0, in function alloc at ggml-cuda.cu:1\n") ==
          "llama.cpp generation generation_growth CUDA0 -");
    CHECK(found_in("ggml_vulkan: Device memory allocation of size 4563402752 failed.\n"
                   "ggml_vulkan: Requested buffer size exceeds device memory allocation limit: ErrorOutOfDeviceMemory\n"
                   "llama_kv_cache_init: failed to allocate buffer for kv cache\n") ==
          "llama.cpp per_buffer_limit per_buffer_limit Vulkan0 4352");
    CHECK(found_in("ggml_metal_add_buffer: error: failed to allocate buffer, size =  1024.00 MiB\n"
                   "error loading model: failed to allocate buffer\n") ==
          "llama.cpp weights weights_too_large Metal 1024");
    CHECK(found_in(ready + "ggml_metal_graph_compute: command buffer 0 failed with status 5\n"
                           "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n") ==
          "llama.cpp generation generation_growth Metal -");
    CHECK(found_in("llama_init_from_model: quantized V cache requires flash_attn to be enabled\n") ==
          "llama.cpp settings setting - -");
    CHECK(found_in("terminate called after throwing an instance of 'std::bad_alloc'\n") ==
          "unknown host host_memory - -");
}

TEST_CASE("what looks like a failure and is none", "[diagnose]") {
    CHECK(found_in("ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 1073741824\n"
                   "graph_reserve: failed to allocate compute buffers\n"
                   "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n" +
                   ready) == "llama.cpp none none - -");
    CHECK(found_in("ggml_cuda_host_malloc: failed to allocate 512.00 MiB of pinned memory: out of memory\n" + ready) ==
          "llama.cpp none none - -");
    CHECK(found_in("ggml_backend_sched_alloc_splits: failed to allocate graph, reserving\n" + ready) ==
          "llama.cpp none none - -");
    CHECK(
        found_in("time=2025-03-01T10:00:00Z level=WARN source=sched.go:646 msg=\"gpu VRAM usage didn't recover within "
                 "timeout\" seconds=5.0\n") == "ollama none none - -");
}

TEST_CASE("of several loads the last that failed counts, even where a later one came up", "[diagnose]") {
    const std::string kv =
        "llama_context: n_ctx = 65536\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\nllama_init_from_model: failed to allocate buffer for kv cache\n"
        "srv llama_server: exiting due to model loading error\n";
    const std::string good =
        "srv load_model: loading model '/models/b.gguf'\nload_tensors: CUDA0 model buffer size = 100.00 MiB\n"
        "llama_context: n_ctx = 4096\nsrv llama_server: model loaded\n";
    const Diagnosis d = diagnose(log_stream(good + "srv load_model: loading model '/models/a.gguf'\n" + kv + good), {});
    CHECK(d.oom);
    CHECK(d.figure("n_ctx")->value == 65536);
    CHECK(d.model_name == "a.gguf");
    CHECK(std::ranges::count(d.notes, "a later load, from line 10 on, succeeded") == 1);
}

TEST_CASE("projectors and draft models have causes of their own", "[diagnose]") {
    const std::string model =
        "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\nllama_context: n_ctx = 8192\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n";
    CHECK(found_in(model + "clip_model_loader: model name: x\nclip_ctx: CLIP using CUDA0 backend\n"
                           "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 800.00 MiB on device 0: cudaMalloc "
                           "failed: out of memory\n"
                           "alloc_tensor_range: failed to allocate CUDA0 buffer of size 838860800\n"
                           "srv load_model: failed to load multimodal model, 'x'\n") ==
          "llama.cpp mmproj mmproj CUDA0 800");
    CHECK(found_in(model + "srv load_model: loading draft model 'd.gguf'\n"
                           "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 600.00 MiB on device 0: cudaMalloc "
                           "failed: out of memory\n"
                           "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n") ==
          "llama.cpp weights draft CUDA0 600");
}

TEST_CASE("what another process holds is told apart where the card would have held the request", "[diagnose]") {
    const std::string log =
        "  - CUDA0   : NVIDIA GeForce RTX 4090 (24564 MiB, 6000 MiB free)\n"
        "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\nllama_context: n_ctx = 16384\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "llama_init_from_model: failed to allocate buffer for kv cache\n";
    CHECK(found_in(log) == "llama.cpp kv_cache other_process CUDA0 2048");
}

TEST_CASE("both caches of sliding-window models count, and what --fit only tries does not", "[diagnose]") {
    const std::string log = "common_params_fit_impl: getting device memory data for initial parameters:\n"
                            "load_tensors:        CUDA0 model buffer size =     0.00 MiB\n"
                            "llama_kv_cache:      CUDA0 KV buffer size =  9999.00 MiB\n"
                            "common_fit_params: successfully fit params to free device memory\n"
                            "load_tensors:   CPU_Mapped model buffer size =   787.50 MiB\n"
                            "load_tensors: AMD Radeon RX 7900 XTX (RADV NAVI31) model buffer size =  8047.37 MiB\n"
                            "llama_kv_cache: AMD Radeon RX 7900 XTX (RADV NAVI31) KV buffer size =  2560.00 MiB\n"
                            "llama_kv_cache: AMD Radeon RX 7900 XTX (RADV NAVI31) KV buffer size =   174.00 MiB\n" +
                            ready;
    CHECK(figure_in(log, "kv_cache") == 2734 * mib);
    CHECK(figure_in(log, "weights") / mib == 8047);
    CHECK(figure_in(log, "host_weights") / mib == 787);
}

TEST_CASE("Ollama's engine of 2025, and a default context that nobody asked for", "[diagnose]") {
    const std::string log =
        "time=2025-09-10T08:00:00Z level=INFO source=routes.go:1 msg=\"vram-based default context\" total_vram=\"47.5 "
        "GiB\" default_num_ctx=262144\n"
        "time=2025-09-10T08:00:00Z level=INFO source=runner.go:1 msg=load request=\"{Operation:alloc LoraPath:[] "
        "Parallel:2 BatchSize:512 FlashAttention:true KvSize:16384 KvCacheType:q8_0 NumThreads:8}\"\n"
        "time=2025-09-10T08:00:01Z level=INFO source=device.go:1 msg=\"model weights\" device=CUDA0 size=\"11.5 GiB\"\n"
        "time=2025-09-10T08:00:01Z level=INFO source=device.go:1 msg=\"kv cache\" device=CUDA0 size=\"300.0 MiB\"\n"
        "time=2025-09-10T08:00:01Z level=INFO source=device.go:1 msg=\"compute graph\" device=CUDA0 size=\"120.0 "
        "MiB\"\n";
    CHECK(found_in(log) == "ollama none none CUDA0 -");
    CHECK(figure_in(log, "weights") == 11 * gib + gib / 2);
    CHECK(figure_in(log, "kv_cache") == 300 * mib);
    CHECK(figure_in(log, "n_ctx") == 16384);
    CHECK(figure_in(log, "n_parallel") == 2);
}

TEST_CASE("vLLM: the runtime's own figures, wrapped lines too", "[diagnose]") {
    const std::string error =
        "(EngineCore_DP0 pid=1094) ERROR 12-11 00:06:53 [core.py:1] ValueError: To serve at least one request with "
        "the models's max seq len (32768), (5.00 GiB KV cache is needed, which is larger than the available KV "
        "cache memory (2.50 GiB). Based on the available memory, the estimated maximum model length is 16384. Try";
    CHECK(found_in(error + "\n") == "vllm kv_cache kv_too_large - 5120");
    std::string wrapped;
    for (std::size_t i = 0; i < error.size(); i += 79) wrapped += error.substr(i, 79) + "\n";
    CHECK(figure_in(wrapped, "free") == 5 * gib / 2);
    CHECK(figure_in(wrapped, "max_ctx") == 16384);
    const Diagnosis d = diagnose(log_stream(error + "\n"), {});
    REQUIRE(!d.actions.empty());
    CHECK(d.actions[0].flags == std::vector<std::string>{"--max-model-len", "16384"});
    CHECK(found_in("ValueError: The model's max seq len (8192) is larger than the maximum number of tokens that can be "
                   "stored in KV "
                   "cache (5120). Try increasing `gpu_memory_utilization`\n") == "vllm kv_cache kv_too_large - -");
    CHECK(found_in("ValueError: Free memory on device cuda:0 (1.9/23.6 GiB) on startup is less than desired GPU memory "
                   "utilization "
                   "(0.9, 21.2 GiB). Decrease\n") == "vllm weights other_process GPU 0 21708");
}

TEST_CASE("PyTorch, in the words of each era", "[diagnose]") {
    CHECK(found_in("RuntimeError: CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 23.65 GiB total capacity; "
                   "22.99 GiB already "
                   "allocated; 154.06 MiB free; 22.99 GiB reserved in total by PyTorch)\n") ==
          "pytorch generation generation_growth GPU 0 172");
    const std::string modern =
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.02 GiB. GPU 1 has a total capacity of 23.65 "
        "GiB of "
        "which 100.00 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use. Of the "
        "allocated "
        "memory 20.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.\n";
    CHECK(found_in("  File \"/x/transformers/modeling_utils.py\", line 1, in from_pretrained\n" + modern) ==
          "pytorch weights weights_too_large GPU 1 1044");
    CHECK(figure_in(modern, "slack") == 3 * gib);
}

TEST_CASE("LM Studio, SGLang, MLX, koboldcpp and the system's own killer", "[diagnose]") {
    CHECK(found_in("[LM Studio] Error: Model loading was stopped due to insufficient system resources. Under the "
                   "current settings, this model "
                   "requires approximately 22.92 GB of memory, and continuing to load it would likely overload your "
                   "system\n") == "lmstudio weights weights_too_large - 21858");
    CHECK(found_in("Model loading was stopped due to insufficient system resources. Under the current settings, this "
                   "model requires "
                   "approximately NaN undefined of memory\n") == "lmstudio settings setting - -");
    CHECK(found_in("[METAL] Command buffer execution failed: Insufficient Memory "
                   "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n") ==
          "mlx generation generation_growth - -");
    CHECK(found_in("RuntimeError: [metal::malloc] Attempting to allocate 12884901888 bytes which is greater than the "
                   "maximum allowed buffer "
                   "size of 9534832640 bytes.\n") == "mlx per_buffer_limit per_buffer_limit Metal 12288");
    CHECK(found_in("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n") ==
          "sglang kv_cache kv_too_large - -");
    CHECK(found_in("Welcome to KoboldCpp - Version 1.99\nllama_kv_cache_init: CUDA0 KV buffer size = 1024.00 MiB\n"
                   "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1073741824\nfailed to allocate "
                   "compute buffers\n") == "koboldcpp compute compute_too_large CUDA0 1024");
    CHECK(found_in("kernel: Out of memory: Killed process 4242 (llama-server) total-vm:1kB\n") ==
          "llama.cpp host host_memory - -");
}

TEST_CASE("an empty log is an error", "[diagnose]") { CHECK_THROWS_AS(diagnose(log_stream(""), {}), Error); }
