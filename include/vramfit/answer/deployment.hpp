#pragma once

#include "vramfit/answer/request.hpp"
#include "vramfit/answer/settings_text.hpp"
#include "vramfit/base/environment.hpp"
#include "vramfit/model/source.hpp"

#include <string>
#include <utility>
#include <vector>

namespace vramfit {

/// A deployment as people have written it down: options of the program, a runtime's own command line, a file's keys, an
/// environment. Each runtime's flags, variables and keys stand in data/command_lines/, with their sources.
struct DeploymentText {
    std::vector<SettingText> options;      ///< of the program itself: the strongest
    std::vector<std::string> command = {}; ///< {"llama-server", "-m", "model.gguf", "-c", "65536"}; empty: none
    std::vector<std::pair<std::string, std::string>> keys = {}; ///< of a file that the command's runtime reads
    std::vector<SettingText> settings = {};        ///< of a manifest: the program's settings, weaker than the options
    Environment environment = empty_environment(); ///< what the runtime would find in it counts
    std::string where = {};                        ///< where the command stands, for messages: "compose.yaml:12: "
};

/// The question that it asks. What is said more than once counts by its strength: the options, a manifest's settings, the
/// command's flags, the file's keys, the command's own assignments (`env A=B`), VRAMFIT_* of the environment (VRAMFIT_GPU is --gpu), the
/// runtime's variables, what the program does where nobody says anything (llama.cpp places layers by itself). Models
/// that are not on this computer are looked up in the catalog by their names. What an answer should mention of it all
/// (variables that counted, flags that were not understood) is in Request::notes.
/// Throws Error for a command of no known runtime, for a flag without its value and for values that make no sense.
Request request_of(const DeploymentText& text, const ModelSources& sources);

/// Whether a runtime's command is among the words, as request_of finds it: behind `sudo`, `env A=B`, `python -m`, in
/// `sh -c` and `docker run`.
bool has_runtime_command(const std::vector<std::string>& words);

} // namespace vramfit
