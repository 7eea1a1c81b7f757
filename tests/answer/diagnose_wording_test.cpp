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
    // koboldcpp.py: the name that versions before 2025 know, and later ones, too.
    CHECK(flags_of(LogRuntime::koboldcpp, "ubatch", "256") == Flags{"--blasbatchsize", "256"});
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

namespace {

Diagnosis diagnosis_of(LogRuntime runtime, std::uint64_t n_parallel) {
    Diagnosis diagnosis;
    diagnosis.runtime = runtime;
    diagnosis.figures = {{"n_parallel", n_parallel, 1, false}};
    return diagnosis;
}

} // namespace

TEST_CASE("A suggested context is that of the slots which are suggested with it") {
    // Four requests of 8192 tokens each; Ollama counts the tokens of one.
    const Diagnosis ollama = diagnosis_of(LogRuntime::ollama, 4);
    Suggestion suggestion;
    suggestion.set = {{"parallel", std::uint64_t{1}}, {"n_ctx", std::uint64_t{8192}}};
    CHECK(flags_of(ollama, suggestion) == Flags{"OLLAMA_NUM_PARALLEL=1", "OLLAMA_CONTEXT_LENGTH=8192"});
    suggestion.set = {{"n_ctx", std::uint64_t{16384}}};
    CHECK(flags_of(ollama, suggestion) == Flags{"OLLAMA_CONTEXT_LENGTH=4096"});
}

TEST_CASE("What a runtime cannot be told is not suggested in part") {
    Suggestion suggestion; // one cache for all slots
    suggestion.set = {{"kv_unified", true}, {"n_ctx", std::uint64_t{8192}}};
    CHECK(flags_of(diagnosis_of(LogRuntime::ollama, 4), suggestion).empty());
    CHECK(flags_of(diagnosis_of(LogRuntime::lmstudio, 4), suggestion) ==
          Flags{"Unified KV Cache on", "--context-length", "8192"});
}

TEST_CASE("A suggestion's switches and types are one setting to some runtimes") {
    Suggestion suggestion;
    suggestion.set = {
        {"cache_type_k", std::string("q8_0")}, {"cache_type_v", std::string("q8_0")}, {"flash_attn", true}};
    CHECK(flags_of(diagnosis_of(LogRuntime::ollama, 1), suggestion) ==
          Flags{"OLLAMA_FLASH_ATTENTION=1", "OLLAMA_KV_CACHE_TYPE=q8_0"});
    CHECK(flags_of(diagnosis_of(LogRuntime::lmstudio, 1), suggestion) ==
          Flags{"K Cache Quantization Type q8_0", "V Cache Quantization Type q8_0", "Flash Attention on"});
    suggestion.set = {{"mmproj_offload", false}};
    CHECK(flags_of(diagnosis_of(LogRuntime::koboldcpp, 1), suggestion) == Flags{"--mmprojcpu"});
    suggestion.set = {{"quant", std::string("Q4_K_S")}};
    CHECK(flags_of(diagnosis_of(LogRuntime::ollama, 1), suggestion).empty());
}
