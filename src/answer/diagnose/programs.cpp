#include "programs.hpp"

#include "keyword_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit {
namespace {

using Word = std::pair<std::string_view, std::string_view>;
using Mark = std::string_view;

// lmdeploy/cli/utils.py
constexpr std::array lmdeploy_marks{Mark{"[TM][ERROR]"}, Mark{"[TM][WARNING]"}, Mark{"lmdeploy/"}};
constexpr std::array lmdeploy_words{Word{"ctx", "--session-len|{}"}, Word{"cache_type", "--quant-policy|8"},
                                    Word{"utilization", "--cache-max-entry-count|0.5"}, Word{"split", "--tp|{}"}};

// launcher/src/main.rs
constexpr std::array tgi_marks{Mark{"text_generation_launcher"}, Mark{"text_generation_server"},
                               Mark{"--max-batch-prefill-tokens"}};
constexpr std::array tgi_words{Word{"ubatch", "--max-batch-prefill-tokens|{}"}, Word{"ctx", "--max-total-tokens|{}"},
                               Word{"split", "--num-shard|{}"}};

// exllamav2/cache.py and exllamav3/cache: what TabbyAPI (config_sample.yml), text-generation-webui and ExUI set
constexpr std::array exllama_marks{Mark{"exllamav2/"},
                                   Mark{"exllamav3/"},
                                   Mark{"exllamav2\\"},
                                   Mark{"exllamav3\\"},
                                   Mark{"exllamav3 version"},
                                   Mark{"exllamav2 version"},
                                   Mark{"Insufficient VRAM for model"},
                                   Mark{"Insufficient VRAM in split"}};
constexpr std::array exllama_words{Word{"ctx", "max_seq_len={}"}, Word{"cache_type", "cache_mode=Q8"}};

// llama_cpp/llama.py; 8 and 2 are GGML_TYPE_Q8_0 and GGML_TYPE_Q4_0
constexpr std::array python_marks{Mark{"llama_cpp/llama.py"}, Mark{"llama_cpp\\llama.py"},
                                  Mark{"LlamaCpp("},          Mark{"llama_cpp/_internals.py"},
                                  Mark{"for LlamaCpp"},       Mark{"llama_cpp_python"}};
constexpr std::array python_words{Word{"ctx", "n_ctx={}"},
                                  Word{"ubatch", "n_ubatch={}"},
                                  Word{"gpu_layers", "n_gpu_layers={}"},
                                  Word{"flash_attn", "flash_attn=True"},
                                  Word{"cache_type=q8_0", "type_k=8|type_v=8|flash_attn=True"},
                                  Word{"cache_type=q4_0", "type_k=2|type_v=2|flash_attn=True"}};

// core/config/model_config.go
constexpr std::array localai_marks{Mark{"DBG GRPC("}, Mark{"LocalAI version"}};
constexpr std::array localai_words{Word{"ctx", "context_size: {}"}, Word{"gpu_layers", "gpu_layers: {}"},
                                   Word{"flash_attn", "flash_attention: true"},
                                   Word{"cache_type", "cache_type_k: {}|cache_type_v: {}"}};

// python/mlc_llm/cli/serve.py
constexpr std::array mlc_marks{Mark{"mlc_llm"}, Mark{"mlc-llm"}, Mark{"mlc-chat"},
                               Mark{"Cannot estimate KV cache capacity"}};
constexpr std::array mlc_words{Word{"ctx", "--overrides|context_window_size={}"},
                               Word{"ubatch", "--overrides|prefill_chunk_size={}"},
                               Word{"split", "--overrides|tensor_parallel_shards={}"}};

// Whose words are not known here.
constexpr std::array mistral_marks{Mark{"mistralrs"}};
constexpr std::array gpt4all_marks{Mark{"LLAMA ERROR: "}};

// Other models: pictures, speech.
constexpr std::array diffusion_marks{Mark{"stable-diffusion.cpp"}, Mark{"ggml_extend.hpp"}};
constexpr std::array whisper_marks{Mark{"whisper_model_load: "}, Mark{"whisper_init_"}};

constexpr std::array<ProgramInfo, 10> all{{
    {"LMDeploy", lmdeploy_marks, false, true, lmdeploy_words},
    {"text-generation-inference", tgi_marks, false, true, tgi_words},
    {"ExLlama", exllama_marks, false, true, exllama_words},
    {"llama-cpp-python", python_marks, true, true, python_words},
    {"LocalAI", localai_marks, true, true, localai_words},
    {"MLC LLM", mlc_marks, false, true, mlc_words},
    {"mistral.rs", mistral_marks, false, true, {}},
    {"GPT4All", gpt4all_marks, true, true, {}},
    {"stable-diffusion.cpp", diffusion_marks, false, false, {}},
    {"whisper.cpp", whisper_marks, false, false, {}},
}};

static_assert(std::ranges::all_of(all, [](const ProgramInfo& program) {
    return std::ranges::all_of(program.marks, [](Mark mark) { return mark.size() >= KeywordSearch::least_length; });
}));

} // namespace

std::span<const ProgramInfo> programs() { return all; }

const ProgramInfo* find_program(std::string_view name) {
    const auto* const found = std::ranges::find(all, name, &ProgramInfo::name);
    return found == all.end() ? nullptr : found;
}

std::vector<std::string> program_words(const ProgramInfo& program, std::string_view kind, std::string_view value) {
    const std::string exact = std::string(kind) + "=" + std::string(value);
    auto found = std::ranges::find(program.words, exact, &Word::first);
    if (found == program.words.end()) found = std::ranges::find(program.words, kind, &Word::first);
    std::vector<std::string> words;
    if (found == program.words.end()) return words;
    for (std::string_view rest = found->second; !rest.empty();) {
        std::string word(rest.substr(0, rest.find('|')));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        if (const std::size_t gap = word.find("{}"); gap != std::string::npos) word.replace(gap, 2, value);
        words.push_back(std::move(word));
    }
    return words;
}

} // namespace vramfit
