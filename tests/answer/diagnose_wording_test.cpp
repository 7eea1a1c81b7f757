// The words in which each runtime is told what would help. Expected are the runtimes' own lists of options
// (llama.cpp common/arg.cpp, ollama envconfig, lmstudio-js, koboldcpp.py, vllm engine/arg_utils.py, sglang
// server_args.py, mlx_lm generate.py).
#include "answer/diagnose/wording.hpp"

#include "vramfit/memory/runtime.hpp"

#include "catch.hpp"

using namespace vramfit;
using Flags = std::vector<std::string>;

TEST_CASE("Advice of a diagnosis has the words of the runtime's own profile") {
    CHECK(flags_of(LogRuntime::llama_cpp, "ctx", "8192") == Flags{"-c", "8192"});
    CHECK(flags_of(LogRuntime::unknown, "flash_attn", "on") == Flags{"-fa", "on"});
    CHECK(flags_of(LogRuntime::llama_cpp, "cache_type", "q8_0") == Flags{"-ctk", "q8_0", "-ctv", "q8_0"});
    CHECK(flags_of(LogRuntime::llama_cpp, "fit", "") == Flags{"--fit", "on"});
    CHECK(flags_of(LogRuntime::llama_cpp, "mmproj", "") == Flags{"--no-mmproj-offload"});
    CHECK(flags_of(LogRuntime::ollama, "ubatch", "256") == Flags{"/set parameter num_batch 256"});
    CHECK(flags_of(LogRuntime::lmstudio, "ctx", "4096") == Flags{"--context-length", "4096"});
    CHECK(flags_of(LogRuntime::koboldcpp, "ubatch", "256") == Flags{"--batchsize", "256"});
    CHECK(flags_of(LogRuntime::koboldcpp, "mmproj", "") == Flags{"--mmprojcpu"});
    CHECK(flags_of(LogRuntime::vllm, "utilization", "0.95") == Flags{"--gpu-memory-utilization", "0.95"});
    CHECK(flags_of(LogRuntime::vllm, "graphs", "") == Flags{"--enforce-eager"});
    CHECK(flags_of(LogRuntime::sglang, "graphs", "16") == Flags{"--cuda-graph-max-bs", "16"});
    CHECK(flags_of(LogRuntime::sglang, "ubatch", "2048") == Flags{"--chunked-prefill-size", "2048"});
}

TEST_CASE("LM Studio's settings that no flag has are named as its window has them") {
    CHECK(flags_of(LogRuntime::lmstudio, "ubatch", "256") == Flags{"Physical Batch Size 256"});
    CHECK(flags_of(LogRuntime::lmstudio, "cache_type", "q8_0") ==
          Flags{"K Cache Quantization Type q8_0", "V Cache Quantization Type q8_0"});
}

TEST_CASE("Two GPUs are two equal shares, or a number of them") {
    CHECK(flags_of(LogRuntime::llama_cpp, "split", "2") == Flags{"-ts", "1,1"});
    CHECK(flags_of(LogRuntime::koboldcpp, "split", "2") == Flags{"--tensor_split", "1 1"});
    CHECK(flags_of(LogRuntime::vllm, "split", "2") == Flags{"--tensor-parallel-size", "2"});
    CHECK(flags_of(LogRuntime::ollama, "split", "2").empty());
}

TEST_CASE("A cache type has the engine's own name, and f16 is the model's type") {
    CHECK(flags_of(LogRuntime::vllm, "cache_type", "q8_0") == Flags{"--kv-cache-dtype", "fp8"});
    CHECK(flags_of(LogRuntime::sglang, "cache_type", "q8_0") == Flags{"--kv-cache-dtype", "fp8_e4m3"});
    CHECK(flags_of(LogRuntime::vllm, "cache_type", "f16") == Flags{"--kv-cache-dtype", "auto"});
}

TEST_CASE("Where flash attention was off for years, a quantized cache says that it needs it") {
    CHECK(flags_of(LogRuntime::ollama, "cache_type", "q8_0") ==
          Flags{"OLLAMA_FLASH_ATTENTION=1", "OLLAMA_KV_CACHE_TYPE=q8_0"});
    CHECK(flags_of(LogRuntime::ollama, "cache_type", "f16") == Flags{"OLLAMA_KV_CACHE_TYPE=f16"});
    CHECK(flags_of(LogRuntime::koboldcpp, "cache_type", "q4_0") == Flags{"--flashattention", "--quantkv", "2"});
    CHECK(flags_of(LogRuntime::koboldcpp, "cache_type", "f16") == Flags{"--quantkv", "0"});
}

TEST_CASE("Words of runtimes and programs that no profile has") {
    CHECK(flags_of(LogRuntime::mlx, "ctx", "8192") == Flags{"--max-kv-size", "8192"});
    CHECK(flags_of(LogRuntime::tensorrt_llm, "utilization", "0.80") ==
          Flags{"--kv_cache_free_gpu_memory_fraction", "0.80"});
    CHECK(flags_of(LogRuntime::tensorrt_llm, "ctx", "8192").empty());
    CHECK(flags_of(LogRuntime::pytorch, "ctx", "8192").empty());
}

TEST_CASE("Builds before --fit have no such flag") {
    CHECK(find_runtime("llama.cpp").can_set("fit"));
    CHECK_FALSE(find_runtime_version("llama.cpp", "b6325").can_set("fit"));
}
