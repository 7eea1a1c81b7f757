// Programs that use llama.cpp or PyTorch and have options of their own, and llama.cpp's words of other years.
#include "answer/diagnose/programs.hpp"
#include "catch.hpp"
#include "support/diagnosed.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::diagnosis_of;
using vramfit::test::figure;
using vramfit::test::found_in;
using vramfit::test::log_stream;
using vramfit::test::notes;

namespace {

using Flags = std::vector<std::string>;

bool advises(const Diagnosis& found, const Flags& flags) {
    return std::ranges::any_of(found.actions, [&](const DiagnosisAction& action) { return action.flags == flags; });
}

/// No action has an option of llama.cpp or of transformers.
bool is_foreign(const Diagnosis& found) {
    return std::ranges::none_of(found.actions, [](const DiagnosisAction& action) {
        return std::ranges::any_of(action.flags, [](const std::string& flag) {
            return flag == "-c" || flag == "-ub" || flag == "-ngl" || flag == "--fit" || flag.starts_with("load_in");
        });
    });
}

} // namespace

TEST_CASE("programs have options of their own, or none that are known", "[diagnose]") {
    const Diagnosis tgi = diagnosis_of("ERROR text_generation_launcher: Method Warmup encountered an error.\n"
                                       "RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to "
                                       "decrease `--max-batch-prefill-tokens`\n");
    CHECK(tgi.program == "text-generation-inference");
    CHECK(tgi.stage == FailureStage::compute);
    CHECK(advises(tgi, {"--max-batch-prefill-tokens", "2048"})); // half of what it tried

    const Diagnosis lmdeploy = diagnosis_of("File \"/x/lmdeploy/turbomind/turbomind.py\", line 486, in _create\n"
                                            "RuntimeError: [TM][ERROR] CUDA runtime error: out of memory "
                                            "/lmdeploy/src/turbomind/utils/allocator.h:231\n");
    CHECK(lmdeploy.oom);
    CHECK(lmdeploy.program == "LMDeploy");
    CHECK(advises(lmdeploy, {"--session-len", "8192"}));

    const Diagnosis rust =
        diagnosis_of("thread '<unnamed>' panicked at mistralrs-core/src/pipeline/mistral.rs:409:17:\n"
                     "Model failed with error `DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of "
                     "memory\")`.\n");
    CHECK(rust.oom);
    CHECK(rust.program == "mistral.rs");
    CHECK(is_foreign(rust));
    CHECK(rust.missing.empty());

    const Diagnosis mlc = diagnosis_of("AssertionError: Cannot estimate KV cache capacity. The model weight size "
                                       "3790469120 may be larger than GPU memory size 25438126080\n");
    CHECK(mlc.stage == FailureStage::kv_cache);
    CHECK(figure(mlc, "weights") == 3790469120);
    CHECK(figure(mlc, "total") == 25438126080);
    CHECK(mlc.program == "MLC LLM");
}

TEST_CASE("ExLlama counts the cache with the model", "[diagnose]") {
    const Diagnosis found = diagnosis_of("INFO:     exllamav3 version: 1.4.5\n"
                                         "INFO:     Using configured max_seq_len: 145408 tokens.\n"
                                         "RuntimeError: Insufficient VRAM in split for model and cache\n");
    CHECK(found.program == "ExLlama");
    CHECK(figure(found, "n_ctx") == 145408);
    CHECK(found.summary.starts_with("The model with its cache does not fit"));
    CHECK(advises(found, {"max_seq_len=69632"})); // half, in steps of 4096
    CHECK(advises(found, {"cache_mode=Q8"}));
}

TEST_CASE("a cache of many tensors is not in pieces because one of them found no room", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "Traceback (most recent call last):\n"
        "  File \"/x/exllamav2/cache.py\", line 92, in create_state_tensors\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 14.74 "
        "GiB "
        "of which 38.12 MiB is free. Process 207160 has 14.70 GiB memory in use. Of the allocated memory 14.36 GiB is "
        "allocated by PyTorch, and 217.26 MiB is reserved by PyTorch but unallocated.\n");
    CHECK(found.stage == FailureStage::kv_cache);
    REQUIRE(!found.actions.empty());
    CHECK(found.actions[0].kind == "ctx");
}

TEST_CASE("llama.cpp as a library has the library's names", "[diagnose]") {
    const Diagnosis found = diagnosis_of("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device "
                                         "0: cudaMalloc failed: out of memory\n"
                                         "llama_kv_cache_init: failed to allocate buffer for kv cache\n"
                                         "Traceback (most recent call last):\n"
                                         "  File \"/x/site-packages/llama_cpp/llama.py\", line 393, in __init__\n");
    CHECK(found.program == "llama-cpp-python");
    CHECK(found.runtime == LogRuntime::llama_cpp);
    CHECK(advises(found, {"n_ctx=8192"}));
    CHECK(advises(found, {"type_k=8", "type_v=8", "flash_attn=True"})); // GGML_TYPE_Q8_0

    const ProgramInfo* const localai = find_program("LocalAI");
    REQUIRE(localai != nullptr);
    CHECK(program_words(*localai, "ctx", "8192") == Flags{"context_size: 8192"});
    CHECK(program_words(*localai, "kv_unified", "").empty());
}

TEST_CASE("programs for pictures and speech are none that vramfit sizes", "[diagnose]") {
    const Diagnosis picture = diagnosis_of(
        "[INFO ] ggml_extend.hpp:63   -   Device 0: AMD Radeon RX 7600 XT, gfx1102 (0x1102), VMM: no, Wave Size: 32\n"
        "[INFO ] stable-diffusion.cpp:281  - loading diffusion model from 'x.safetensors'\n"
        "[ERROR] ggml_extend.hpp:69   - ggml_backend_cuda_buffer_type_alloc_buffer: allocating 26026.79 MiB on device "
        "0: "
        "cudaMalloc failed: out of memory\n");
    CHECK(picture.program == "stable-diffusion.cpp");
    CHECK(picture.device == "ROCm0");
    CHECK(is_foreign(picture));
    CHECK(notes(picture, "runs no language models"));
    const Diagnosis speech =
        diagnosis_of("whisper_model_load: loading model\n"
                     "ggml_aligned_malloc: insufficient memory (attempted to allocate 14796.44 MB)\n");
    CHECK(speech.program == "whisper.cpp");
    CHECK(is_foreign(speech));
}

TEST_CASE("TensorRT's own request, while an engine is built", "[diagnose]") {
    const std::string log = "[11/10/2023-06:30:40] [TRT] [W] Requested amount of GPU memory (24793579520 bytes) could "
                            "not be allocated. There "
                            "may not be enough free memory for allocation to succeed.\n"
                            "[11/10/2023-06:30:40] [TRT-LLM] [E] Engine building failed, please check the error log.\n";
    CHECK(found_in(log) == "tensorrt-llm weights weights_too_large -");
    CHECK(figure(diagnosis_of(log), "requested") == 24793579520);
}

TEST_CASE("an old error has the path of a file before its reason", "[diagnose]") {
    CHECK(found_in("CUDA error 2 at /go/src/github.com/jmorganca/ollama/llm/llama.cpp/gguf/ggml-cuda.cu:9132: out of "
                   "memory\ncurrent device: 0\n") == "ollama generation generation_growth CUDA0");
}

TEST_CASE("Metal's buffers of 2023 tell by their names what they were for", "[diagnose]") {
    const auto named = [](const std::string& name) {
        return "ggml_metal_add_buffer: error: failed to allocate '" + name +
               "            ' buffer, size = 19283.21 MiB\n";
    };
    CHECK(found_in(named("data")) == "llama.cpp weights weights_too_large Metal");
    CHECK(found_in(named("kv")) == "llama.cpp kv_cache kv_too_large Metal");
    CHECK(found_in(named("alloc")) == "llama.cpp compute compute_too_large Metal");
    CHECK(figure(diagnosis_of(named("kv")), "requested") == 20219911208); // 19283.21 MiB
}

TEST_CASE("pinned memory that could not be had is no failure, nor is its reason on the next line", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("ggml_vulkan: Failed to allocate pinned memory.\n"
                     "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n"
                     "llm_load_tensors:        CPU buffer size =  3891.24 MiB\n"
                     "INFO [                    main] model loaded | tid=\"1\" timestamp=1725256060\n");
    CHECK(!found.oom);
    CHECK(found.time_known);
    CHECK(notes(found, "pinned memory"));
}

TEST_CASE("PyTorch was refused what was free: no other process is to blame", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 2 has a total capacity of "
        "24.00 "
        "GiB of which 22.54 GiB is free. Of the allocated memory 155.58 MiB is allocated by PyTorch, and 30.42 MiB is "
        "reserved by PyTorch but unallocated.\n");
    CHECK(found.summary.find("by the log's own figures (23081 MiB left)") != std::string::npos);
    REQUIRE(!found.actions.empty());
    CHECK(found.actions[0].kind == "limit");
}

TEST_CASE("a cache in RAM shrinks with the context, not with the weights", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("llama_new_context_with_model: n_ctx      = 131072\n"
                     "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 17179869216\n"
                     "llama_kv_cache_init: failed to allocate buffer for kv cache\n");
    CHECK(found.cause == FailureCause::host_memory);
    CHECK(advises(found, {"-c", "65536"}));
}

TEST_CASE("builds before September 2025 have flash attention off, and -fa as a switch", "[diagnose]") {
    const std::string log =
        "build: 3561 (b72942fa) with cc for x86_64-linux-gnu\n"
        "llama_new_context_with_model: n_ctx      = 131072\n"
        "llm_load_tensors:      CUDA0 buffer size =  7605.33 MiB\n"
        "llama_kv_cache_init:      CUDA0 KV buffer size = 16384.00 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8480.00 MiB on device 0: cudaMalloc "
        "failed: out of memory\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 8891928576\n"
        "llama_new_context_with_model: failed to allocate compute buffers\n";
    Request hints;
    hints.model = "llama3.1-8b";
    hints.quant = "q8_0";
    hints.gpus = {"rtx3090"};
    const Diagnosis found = diagnose(log_stream(log), hints);
    CHECK(found.build == "b3561");
    REQUIRE(!found.actions.empty());
    for (const DiagnosisAction& action : found.actions) {
        const auto flag = std::ranges::find(action.flags, "-fa");
        REQUIRE(flag != action.flags.end()); // without it the buffer alone takes more than is left
        CHECK((flag + 1 == action.flags.end() || (flag + 1)->starts_with('-')));
    }
    CHECK(diagnosis_of("build: 1 (80fb11a) with GNU 12.2.0 for Linux\n").build.empty()); // of a shallow clone
}

TEST_CASE("a draft's context is not the model's", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "llama_init_from_model: n_ctx         = 768\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1412.77 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1481392128\n"
        "llama_init_from_model: failed to allocate compute buffers\n"
        "failed to create draft context\n");
    CHECK(found.cause == FailureCause::draft);
    CHECK(found.figure("n_ctx") == nullptr);
}

TEST_CASE("a server that works on a request has come up", "[diagnose]") {
    const Diagnosis found = diagnosis_of("slot launch_slot_: id  0 | task 4470 | processing task, is_child = 0\n"
                                         "CUDA error: out of memory\n"
                                         "  current device: 0, in function evaluate at ggml-cuda.cu:3100\n");
    CHECK(found.stage == FailureStage::generation);
    CHECK(found.time_known);
}

TEST_CASE("HIP's own call tells that a device is ROCm's", "[diagnose]") {
    CHECK(diagnosis_of("CUDA error: out of memory\n"
                       "  current device: 1, in function ggml_cuda_pool_malloc_leg at ggml-cuda.cu:8584\n"
                       "  hipMalloc((void **) &ptr, look_ahead_size)\n")
              .device == "ROCm1");
}

TEST_CASE("nothing is confirmed where the log has more GPUs than were named", "[diagnose]") {
    const std::string log = "llama_kv_cache_init: kv_size = 23552, offload = 1, type_k = 'f16', type_v = 'f16'\n"
                            "llama_kv_cache_init:      SYCL0 KV buffer size =   782.00 MiB\n"
                            "llama_kv_cache_init:      SYCL1 KV buffer size =   736.00 MiB\n"
                            "llama_kv_cache_init:      SYCL2 KV buffer size =   690.00 MiB\n"
                            "ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 4316463104 Bytes of memory on "
                            "device\n"
                            "ggml_gallocr_reserve_n: failed to allocate SYCL0 buffer of size 4316463104\n"
                            "llama_init_from_model: failed to allocate compute buffers\n";
    Request hints;
    hints.model = "qwen3-30b-a3b";
    hints.quant = "q4_k_m";
    hints.gpus = {"16GB"};
    const Diagnosis found = diagnose(log_stream(log), hints);
    CHECK(figure(found, "n_ctx") == 23552);
    CHECK(notes(found, "the log has 3 GPUs, and 1 is named"));
    CHECK(std::ranges::none_of(found.actions, [](const auto& action) { return action.verdict.has_value(); }));
    hints.gpus = {"3x16GB"};
    CHECK(!notes(diagnose(log_stream(log), hints), "is named"));
}

TEST_CASE("PyTorch's message, broken behind its first sentence, with a prefix before each piece", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("tabbyapi-1  | 2025-03-14 11:05:29.634 ERROR:    torch.OutOfMemoryError: CUDA out of memory.\n"
                     "tabbyapi-1  | Tried to allocate 260.00 MiB. GPU 1 has a total capacity of 23.53 GiB of which\n"
                     "tabbyapi-1  | 190.50 MiB is free. Including non-PyTorch memory, this process has 23.33 GiB\n"
                     "tabbyapi-1  | memory in use. Of the allocated memory 22.70 GiB is allocated by PyTorch, and\n"
                     "tabbyapi-1  | 87.85 MiB is reserved by PyTorch but unallocated.\n");
    CHECK(figure(found, "requested") == 260 * mib);
    CHECK(figure(found, "free") == 190 * mib + mib / 2);
    CHECK(found.device == "GPU 1");
}
