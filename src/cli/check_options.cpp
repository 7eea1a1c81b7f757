#include "cli/check_options.hpp"

#include "cli/help.hpp"
#include "vramfit/answer/settings_text.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::string_view head = R"(Checks the deployments in files: does each fit?

  vramfit check [FILE|-]... [--gpu GPU] [OPTIONS]

A file is a compose file, a systemd unit, llama-swap's configuration, a preset
of llama-server, an Ollama Modelfile, a shell script, or a manifest: JSON
objects, a list or one a line, whose keys are the options below without their
dashes, and "name" and "command".

)";

constexpr std::string_view tail = R"(
Examples:
  vramfit check compose.yaml --gpu 24GB
  vramfit check /etc/systemd/system/*.service --gpu rtx4090 --strict
  vramfit check config.yaml --gpu 24GB --format github
  echo '{"model": "qwen3-8b", "quant": "q4_k_m", "ctx": "32k", "gpu": "12GB"}' |
      vramfit check

Exit code: 0 all fit (--strict: not tightly), 1 one does not, 2 one could not
be answered.
)";

/// The settings of the main job with what says how to answer.
std::vector<OptionSpec> table() {
    std::vector<OptionSpec> options;
    const auto all = fit_options();
    options.reserve(all.size());
    for (const OptionSpec& option : all) {
        const std::string_view name = option.name();
        OptionSpec& own = options.emplace_back(option);
        if (is_setting(name.substr(2)) || name == "--no-env") {
            own.group = "For all of them, before what the file says";
        } else if (name == "--format") {
            own.value = "text|json|github";
        } else if (name == "--exec" || name == "--explain" || name == "--version") {
            options.pop_back();
        }
    }
    return options;
}

} // namespace

std::span<const OptionSpec> check_options() {
    static const std::vector<OptionSpec> options = table();
    return options;
}

std::string check_help() { return std::string(head) + options_text(check_options()) + std::string(tail); }

} // namespace vramfit::cli
