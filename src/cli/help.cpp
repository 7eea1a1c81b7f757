#include "cli/help.hpp"

#include "cli/check_options.hpp"
#include "cli/layout.hpp"
#include "cli/log_options.hpp"
#include "cli/options.hpp"

namespace vramfit::cli {
namespace {

constexpr std::string_view llama_cpp_release = "v0.4.0";
constexpr std::size_t names_width = 31;

constexpr std::string_view fit_head = R"(Does this model, at this quantization and context, fit this GPU?

  vramfit [fit] --model MODEL --quant TYPE --ctx N --gpu GPU [OPTIONS]
      leave one out, and vramfit looks for it:
      no --ctx    the largest context that fits
      no --quant  the best quantization that fits; no --ctx either: a table
      no --gpu    the memory it needs, and the GPUs that hold it
      no --model  the models that fit
  vramfit [OPTIONS] -- COMMAND...         of a runtime's own command line
  vramfit models|gpus|quants|runtimes [FILTER]   what can be asked about
  vramfit diagnose [LOG]                  why did it run out of memory?
  vramfit compare [LOG]                   predicted and logged figures
  vramfit check [FILE]                    do the deployments in it fit?
  vramfit inspect MODEL                   what a model is made of

)";

constexpr std::string_view fit_tail = R"(
Examples:
  vramfit --model llama3.1-8b --quant q4_k_m --ctx 32768 --gpu 24GB
  vramfit -m qwen3-30b-a3b --quant q4_k_m -c 64k -g rtx4090 -ctk q8_0 -ctv q8_0
  vramfit -m llama3.3-70b --quant q4_k_m -g 2xrtx3090        the largest context
  vramfit -m llama3.1-8b -g 12GB                             what fits: a table
  vramfit -m llama3.1-8b --quant q4_k_m -c 32k               which GPU to buy
  vramfit -g 24GB -c 16k --min-params 7B                     which model to load
  vramfit -m gpt-oss-120b --quant mxfp4 -c 32k -g 24GB --n-cpu-moe 30 --explain
  vramfit -m gemma3-27b --quant q4_k_m -c 128k -g 24GB --json
  vramfit -g 24GB -- llama-server -hf ggml-org/gpt-oss-20b-GGUF -c 32768

Exit code: 0 it fits (--strict: not tightly), 1 it does not, 2 no answer.
)";

std::string listing_head(std::string_view command) {
    return "Lists the " + std::string(command) + " that vramfit knows; FILTER is a part of a name\n\n  vramfit " +
           std::string(command) + " [FILTER] [OPTIONS]\n\n";
}

std::string listing_tail(std::string_view command) {
    const std::string_view filter = command == "models"     ? "qwen3"
                                    : command == "gpus"     ? "4090"
                                    : command == "runtimes" ? "ollama"
                                                            : "q4";
    const std::string_view more = command == "models" ? "  vramfit models --installed\n" : "";
    return "\nExamples:\n  vramfit " + std::string(command) + "\n  vramfit " + std::string(command) + " " +
           std::string(filter) + " --json\n" + std::string(more) +
           "\nExit code: 0 listed, 1 nothing matches, 2 no answer.\n";
}

constexpr std::string_view inspect_head =
    R"(Shows what a model is made of: shape, layers, tensors, bytes per token of context

  vramfit inspect MODEL [OPTIONS]

)";

constexpr std::string_view inspect_tail = R"(
Examples:
  vramfit inspect gemma3-27b
  vramfit inspect qwen3-30b-a3b --quant q4_k_m --json
  vramfit inspect model.gguf --as-catalog > ~/.config/vramfit/models.json
  curl -sr 0-20000000 URL | vramfit inspect -

Exit code: 0 shown, 2 no answer.
)";

/// "-ngl, --gpu-layers N|all": the shortest and the first long spelling.
std::string names_of(const OptionSpec& option) {
    const auto spellings = option.all_spellings();
    std::string names = spellings.front() == option.name() ? "" : std::string(spellings.front()) + ", ";
    names += option.name();
    if (!option.takes_value()) return names;
    const std::string value(option.value);
    return names + (option.implied.empty() ? " " + value : " [" + value + "]");
}

} // namespace

std::string options_text(std::span<const OptionSpec> options) {
    std::string text;
    std::string_view group;
    for (const OptionSpec& option : options) {
        if (option.group != group) {
            text += (group.empty() ? "" : "\n") + std::string(option.group) + ":\n";
            group = option.group;
        }
        const std::string names = names_of(option);
        std::string first = "  " + pad_right(names, names_width - 2) + "  ";
        if (names.size() > names_width - 2) {
            text += "  " + names + "\n";
            first = std::string(names_width + 2, ' ');
        }
        text += wrapped(first, option.help);
    }
    return text;
}

std::string help_text(std::string_view command) {
    if (command == "diagnose") return diagnose_help();
    if (command == "compare") return compare_help();
    if (command == "check") return check_help();
    if (command.empty()) return std::string(fit_head) + options_text(fit_options()) + std::string(fit_tail);
    if (command == "inspect")
        return std::string(inspect_head) + options_text(inspect_options()) + std::string(inspect_tail);
    return listing_head(command) + options_text(command == "models" ? models_options() : listing_options()) +
           listing_tail(command);
}

std::string version_text() {
    return "vramfit " VRAMFIT_VERSION "\nmemory rules of llama.cpp " + std::string(llama_cpp_release) + "\n";
}

} // namespace vramfit::cli
