#include "wording.hpp"

#include <array>

namespace vramfit {
namespace {

struct Wording {
    LogRuntime runtime;
    std::string_view kind;
    std::string_view words; ///< divided by blanks; "{}" is the value
};

// Sources: the runtimes' own lists of options (llama.cpp common/arg.cpp, ollama envconfig, koboldcpp.py, vllm
// engine/arg_utils.py, sglang server_args.py, lms load, mlx_lm.server).
constexpr std::array wordings{
    Wording{LogRuntime::llama_cpp, "ctx", "-c {}"},
    Wording{LogRuntime::llama_cpp, "cache_type", "-ctk {} -ctv {}"},
    Wording{LogRuntime::llama_cpp, "flash_attn", "-fa on"},
    Wording{LogRuntime::llama_cpp, "parallel", "-np {}"},
    Wording{LogRuntime::llama_cpp, "ubatch", "-ub {}"},
    Wording{LogRuntime::llama_cpp, "gpu_layers", "-ngl {}"},
    Wording{LogRuntime::llama_cpp, "n_cpu_moe", "--n-cpu-moe {}"},
    Wording{LogRuntime::llama_cpp, "mmproj", "--no-mmproj-offload"},
    Wording{LogRuntime::llama_cpp, "fit", "--fit on"},
    Wording{LogRuntime::llama_cpp, "split", "-ts {}"},
    Wording{LogRuntime::ollama, "ctx", "OLLAMA_CONTEXT_LENGTH={}"},
    Wording{LogRuntime::ollama, "cache_type", "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE={}"},
    Wording{LogRuntime::ollama, "flash_attn", "OLLAMA_FLASH_ATTENTION=1"},
    Wording{LogRuntime::ollama, "parallel", "OLLAMA_NUM_PARALLEL={}"},
    Wording{LogRuntime::ollama, "ubatch", "/set parameter num_batch {}"},
    Wording{LogRuntime::ollama, "gpu_layers", "/set parameter num_gpu {}"},
    Wording{LogRuntime::lmstudio, "ctx", "--context-length {}"},
    Wording{LogRuntime::lmstudio, "parallel", "--parallel {}"},
    Wording{LogRuntime::lmstudio, "estimate", "--estimate-only"},
    Wording{LogRuntime::koboldcpp, "ctx", "--contextsize {}"},
    Wording{LogRuntime::koboldcpp, "flash_attn", "--flashattention"},
    Wording{LogRuntime::koboldcpp, "ubatch", "--blasbatchsize {}"},
    Wording{LogRuntime::koboldcpp, "gpu_layers", "--gpulayers {}"},
    Wording{LogRuntime::koboldcpp, "n_cpu_moe", "--moecpu {}"},
    Wording{LogRuntime::vllm, "ctx", "--max-model-len {}"},
    Wording{LogRuntime::vllm, "cache_type", "--kv-cache-dtype fp8"},
    Wording{LogRuntime::vllm, "parallel", "--max-num-seqs {}"},
    Wording{LogRuntime::vllm, "ubatch", "--max-num-batched-tokens {}"},
    Wording{LogRuntime::vllm, "utilization", "--gpu-memory-utilization {}"},
    Wording{LogRuntime::vllm, "graphs", "--enforce-eager"},
    Wording{LogRuntime::vllm, "split", "--tensor-parallel-size {}"},
    Wording{LogRuntime::sglang, "ctx", "--context-length {}"},
    Wording{LogRuntime::sglang, "cache_type", "--kv-cache-dtype fp8_e5m2"},
    Wording{LogRuntime::sglang, "parallel", "--max-running-requests {}"},
    Wording{LogRuntime::sglang, "ubatch", "--chunked-prefill-size {}"},
    Wording{LogRuntime::sglang, "utilization", "--mem-fraction-static {}"},
    Wording{LogRuntime::sglang, "graphs", "--cuda-graph-max-bs {}"},
    Wording{LogRuntime::sglang, "split", "--tp {}"},
    Wording{LogRuntime::mlx, "ctx", "--max-kv-size {}"},
    Wording{LogRuntime::mlx, "wired", "sudo sysctl iogpu.wired_limit_mb={}"},
    Wording{LogRuntime::tensorrt_llm, "utilization", "--kv_cache_free_gpu_memory_fraction {}"},
};

std::string with_value(std::string_view word, std::string_view value) {
    std::string text(word);
    if (const auto at = text.find("{}"); at != std::string::npos) text.replace(at, 2, value);
    return text;
}

} // namespace

std::vector<std::string> flags_of(LogRuntime runtime, std::string_view kind, std::string_view value) {
    if (runtime == LogRuntime::unknown) runtime = LogRuntime::llama_cpp;
    if (runtime == LogRuntime::koboldcpp && kind == "cache_type") // f16, q8_0 and q4_0 by number
        return {"--flashattention", "--quantkv", value == "q8_0" ? "1" : value.starts_with("q4") ? "2" : "0"};
    for (const Wording& wording : wordings) {
        if (wording.runtime != runtime || wording.kind != kind) continue;
        std::vector<std::string> flags;
        for (std::string_view rest = wording.words; !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            flags.push_back(with_value(rest.substr(0, end), value));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return flags;
    }
    return {};
}

std::vector<std::string> context_flags(const Diagnosis& diagnosis, std::uint64_t n_ctx) {
    const LogFigure* parallel = diagnosis.figure("n_parallel");
    const bool each = diagnosis.runtime == LogRuntime::ollama && parallel != nullptr && parallel->value > 1;
    return flags_of(diagnosis.runtime, "ctx", std::to_string(each ? n_ctx / parallel->value : n_ctx));
}

std::string_view engine_of(LogRuntime runtime) {
    switch (runtime) {
    case LogRuntime::vllm: return "vllm";
    case LogRuntime::sglang: return "sglang";
    case LogRuntime::pytorch: return "transformers";
    case LogRuntime::mlx: return "mlx";
    default: return "";
    }
}

bool runs_llama_cpp(LogRuntime runtime) {
    return runtime == LogRuntime::llama_cpp || runtime == LogRuntime::ollama || runtime == LogRuntime::lmstudio ||
           runtime == LogRuntime::koboldcpp || runtime == LogRuntime::unknown;
}

} // namespace vramfit
