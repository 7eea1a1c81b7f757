#include "cli/options.hpp"

#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>

namespace vramfit::cli {
namespace {

constexpr std::string_view question = "The question";
constexpr std::string_view open = "Where something is left open";
constexpr std::string_view settings = "Settings, named as llama.cpp names them";
constexpr std::string_view output = "Output";

constexpr std::array fit_table{
    OptionSpec{"-m,--model", "MODEL", "llama3.1-8b", "", question,
               "name (see 'vramfit models'), file, folder, ollama:NAME, or - (standard input)"},
    OptionSpec{"--quant", "TYPE", "q4_k_m", "", question,
               "file type of the weights, see 'vramfit quants'; a GGUF file has its own"},
    OptionSpec{"-c,--ctx,--ctx-size", "N", "32768", "", question, "context in tokens: 32768, 32k, max or auto"},
    OptionSpec{
        "-g,--gpu", "GPU", "24GB", "", question,
        "size (24GB), name (rtx4090, see 'vramfit gpus'), several (2x24GB), or auto: this machine's; repeatable"},
    OptionSpec{"--free", "SIZE", "22GiB", "", question, "memory free on each GPU now, instead of its total"},
    OptionSpec{"--reserve", "SIZE", "1GiB", "", question, "memory kept out of use on each GPU"},
    OptionSpec{"--margin", "SIZE", "1GiB", "", question, "headroom under which a fit counts as tight (1GiB)"},
    OptionSpec{"--runtime", "NAME", "llama.cpp", "", question,
               "llama.cpp (means llama-server), llama-cli, ollama, ...: see 'vramfit runtimes'; all: compare them"},
    OptionSpec{"--runtime-version", "BUILD", "b6325", "", question, "whose rules count (of llama.cpp the newest)"},
    OptionSpec{"--ram", "SIZE", "64GB", "", question, "the computer's own memory: then it gets a verdict too"},
    OptionSpec{"--catalog", "FILE", "models.json", "", question, "further models, before the bundled ones; repeatable"},
    OptionSpec{"--no-env", "", "", "", question, "the environment's variables do not count"},

    OptionSpec{"--table", "quant|cache", "cache", "", open, "quantization, or type of the KV cache, against context"},
    OptionSpec{"--family", "NAME", "qwen3", "", open, "models of that family"},
    OptionSpec{"--min-params", "N", "7B", "", open, "models with at least so many parameters: 7B, 500M"},
    OptionSpec{"--moe", "", "", "", open, "mixtures of experts"},
    OptionSpec{"--license,--licence", "NAME", "apache", "", open, "models whose licence is called so"},
    OptionSpec{"--sort", "ORDER", "headroom", "", open, "order of models: params, headroom, context, name (params)"},

    OptionSpec{"-ctk,--cache-type-k", "TYPE", "q8_0", "", settings, "type of the K cache (f16)"},
    OptionSpec{"-ctv,--cache-type-v", "TYPE", "q8_0", "", settings, "type of the V cache (f16)"},
    OptionSpec{"--cache-type", "TYPE", "q8_0", "", settings, "both at once"},
    OptionSpec{"--kv-cache-dtype", "TYPE", "fp8", "", settings, "of vllm and sglang: auto or fp8 (auto: the model's)"},
    OptionSpec{"--gpu-memory-utilization,--mem-fraction-static", "SHARE", "0.9", "", settings,
               "share of each GPU that vllm (0.92) or sglang takes"},
    OptionSpec{"-tp,--tensor-parallel,--tensor-parallel-size,--tp-size", "N", "2", "", settings,
               "GPUs among which vllm or sglang divides every matrix (all given)"},
    OptionSpec{"-pp,--pipeline-parallel,--pipeline-parallel-size,--pp-size", "N", "2", "", settings,
               "stages of whole layers of vllm and sglang"},
    OptionSpec{"--no-cuda-graphs,--enforce-eager", "", "", "", settings, "vllm without CUDA graphs"},
    OptionSpec{"-fa,--flash-attn", "on|off|auto", "on", "on", settings, "flash attention (auto)"},
    OptionSpec{"-np,--parallel", "N", "4", "", settings, "slots (llama-server: 4, sharing one context)"},
    OptionSpec{"-kvu,--kv-unified", "", "", "", settings, "all slots share one context"},
    OptionSpec{"-no-kvu,--no-kv-unified", "", "", "", settings, "each slot has its share of the context"},
    OptionSpec{"-b,--batch-size", "N", "2048", "", settings, "logical batch (2048)"},
    OptionSpec{"-ub,--ubatch-size", "N", "512", "", settings, "physical batch (512)"},
    OptionSpec{"-ngl,--gpu-layers,--n-gpu-layers", "N|all|auto", "99", "", settings,
               "layers on the GPU (all); auto: as llama.cpp's --fit places them"},
    OptionSpec{"-ts,--tensor-split", "A,B,...", "3,1", "", settings, "share of each GPU (by free memory)"},
    OptionSpec{"-sm,--split-mode", "none|layer|row", "row", "", settings, "how several GPUs share the model (layer)"},
    OptionSpec{"-mg,--main-gpu", "N", "0", "", settings, "the GPU of --split-mode none and row (0)"},
    OptionSpec{"-ncmoe,--n-cpu-moe", "N", "10", "", settings, "experts of the first N layers in RAM"},
    OptionSpec{"-cmoe,--cpu-moe", "", "", "", settings, "experts of all layers in RAM"},
    OptionSpec{"-ot,--override-tensor", "REGEX=BUFFER", "exps=CPU", "", settings,
               "tensors of that name to CPU or CUDA0, CUDA1, ..."},
    OptionSpec{"-nkvo,--no-kv-offload", "", "", "", settings, "KV cache in RAM"},
    OptionSpec{"--no-op-offload", "", "", "", settings, "operations on weights in RAM stay on the CPU"},
    OptionSpec{"--swa-full", "", "", "", settings, "sliding-window layers cache the whole context"},
    OptionSpec{"--embeddings,--embedding", "", "", "", settings, "the server gives embeddings"},
    OptionSpec{"--mtp", "", "", "", settings, "speculation with the model's own MTP block"},
    OptionSpec{"-mm,--mmproj", "FILE|auto", "mmproj.gguf", "", settings,
               "projector of a model that sees; auto: the usual one"},
    OptionSpec{"--no-mmproj-offload", "", "", "", settings, "the projector in RAM"},
    OptionSpec{"-md,--model-draft", "MODEL", "llama3.2-1b", "", settings, "a smaller model that drafts"},
    OptionSpec{"--quant-draft", "TYPE", "q4_k_m", "", settings, "its file type (as the model's)"},
    OptionSpec{"-ngld,--gpu-layers-draft,--n-gpu-layers-draft", "N|all", "99", "", settings,
               "its layers on the GPU (all)"},
    OptionSpec{"-ctkd,--cache-type-k-draft", "TYPE", "q8_0", "", settings, "type of its K cache (f16)"},
    OptionSpec{"-ctvd,--cache-type-v-draft", "TYPE", "q8_0", "", settings, "type of its V cache (f16)"},
    OptionSpec{"--lora", "FILE", "adapter.gguf", "", settings, "LoRA adapter; repeatable"},
    OptionSpec{"--no-imatrix", "", "", "", settings, "weights quantized without an importance matrix"},

    OptionSpec{"--format", "FORMAT", "json", "", output, "how to answer: text, json, tsv, markdown (text)"},
    OptionSpec{"--json", "", "", "", output, "short for --format json"},
    OptionSpec{"--explain", "", "", "", output, "show the arithmetic, term by term"},
    OptionSpec{"--strict", "", "", "", output, "a tight fit is a failure"},
    OptionSpec{"-q,--quiet", "", "", "", output, "the exit code alone"},
    OptionSpec{"--exec", "", "", "", output, "run the command behind -- where it fits"},
    OptionSpec{"--color,--colour", "auto|always|never", "never", "", output,
               "auto: on a terminal, unless NO_COLOR is set"},
    OptionSpec{"--version", "", "", "", output, "version, and whose memory rules are built in"},
    OptionSpec{"-h,--help", "", "", "", output, "this text"},
};

// What every command that shows something has.
constexpr OptionSpec format_option{"--format", "text|json", "json", "", output, "how to answer (text)"};
constexpr OptionSpec json_option{"--json", "", "", "", output, "short for --format json"};
constexpr OptionSpec color_option{
    "--color,--colour", "auto|always|never", "never", "", output, "auto: on a terminal, unless NO_COLOR is set"};
constexpr OptionSpec help_option{"-h,--help", "", "", "", output, "this text"};
constexpr OptionSpec catalog_option{"--catalog", "FILE",   "models.json",
                                    "",          question, "further models, before the bundled ones; repeatable"};

constexpr OptionSpec rows_format_option{"--format", "FORMAT", "json",
                                        "",         output,   "how to answer: text, json, tsv, markdown (text)"};

constexpr std::array listing_table{rows_format_option, json_option, color_option, help_option};

constexpr std::array models_table{catalog_option,
                                  OptionSpec{"--installed", "", "", "", question,
                                             "what is on this computer: Ollama, LM Studio, llama.cpp, Hugging Face"},
                                  rows_format_option,
                                  json_option,
                                  color_option,
                                  help_option};

constexpr std::array inspect_table{
    OptionSpec{"-m,--model", "MODEL", "llama3.1-8b", "", question,
               "name of the catalog, file, folder, ollama:NAME, or - (standard input)"},
    OptionSpec{"--quant", "TYPE", "q4_k_m", "", question, "file type of the weights (as they are)"},
    catalog_option,
    OptionSpec{"--as-catalog", "", "", "", output, "the model's entry for a catalog of your own"},
    format_option,
    json_option,
    color_option,
    help_option};

std::string with_dashes(std::string_view spelling) {
    std::string result(spelling);
    if (result.starts_with("--")) {
        std::replace(result.begin(), result.end(), '_', '-');
    }
    return result;
}

} // namespace

std::vector<std::string_view> OptionSpec::all_spellings() const {
    std::vector<std::string_view> result;
    for (std::string_view rest = spellings; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        result.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return result;
}

std::string_view OptionSpec::name() const {
    const std::string_view tail = spellings.substr(spellings.find("--"));
    return tail.substr(0, tail.find(','));
}

std::span<const OptionSpec> fit_options() { return fit_table; }

std::span<const OptionSpec> listing_options() { return listing_table; }

std::span<const OptionSpec> models_options() { return models_table; }

std::span<const OptionSpec> inspect_options() { return inspect_table; }

const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view spelling) {
    const std::string wanted = with_dashes(spelling);
    for (const OptionSpec& option : options) {
        const auto known = option.all_spellings();
        if (std::find(known.begin(), known.end(), wanted) != known.end()) return &option;
    }
    return nullptr;
}

std::string unknown_option(std::span<const OptionSpec> options, std::string_view spelling) {
    const std::string_view given = spelling.substr(0, spelling.find('='));
    std::vector<std::string_view> candidates;
    for (const OptionSpec& option : options) {
        // Short forms are near to everything: only the other multi-letter ones are worth a guess.
        for (const std::string_view known : option.all_spellings()) {
            if (known.starts_with("--") || (known.size() > 2 && !given.starts_with("--"))) candidates.push_back(known);
        }
    }
    // Dots, commas and spaces in a name would break the line's shape; quote() takes care of what is no option at all.
    const bool plain = given.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
                       std::string_view::npos;
    const std::string hint = did_you_mean(given, candidates, 2);
    return "unknown option " + (plain && given.size() <= 40 ? std::string(given) : quote(given)) +
           (hint.empty() ? "; see vramfit --help" : hint);
}

} // namespace vramfit::cli
