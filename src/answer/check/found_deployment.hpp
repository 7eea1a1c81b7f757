#pragma once

#include "vramfit/answer/deployment.hpp"
#include "vramfit/base/environment.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// A deployment in a file that people have.
struct FoundDeployment {
    std::string name;     ///< of the service, the model, the unit; empty where the file gives it none
    std::size_t line = 0; ///< from 1
    DeploymentText text;
    std::vector<std::string> notes = {};
    std::string error = {}; ///< why the command cannot be read; empty: it can
};

using FoundDeployments = std::vector<FoundDeployment>;

// One kind of file each. `file` is its name, for messages; `environment` what "${NAME}" may stand for. All throw Error
// with the line for what they cannot read.

/// The services of a compose file that run a runtime: command, entrypoint or image, with their environment.
FoundDeployments in_compose(std::string_view text, const std::string& file, const Environment& environment);

/// The models of llama-swap's configuration.
FoundDeployments in_llama_swap(std::string_view text, const std::string& file, const Environment& environment);

/// ExecStart= of a systemd unit, with its Environment=.
FoundDeployments in_unit(std::string_view text, const std::string& file);

/// The sections of a preset for llama-server's router (--models-preset).
FoundDeployments in_preset(std::string_view text, const std::string& file);

/// FROM and PARAMETER of an Ollama Modelfile.
FoundDeployments in_modelfile(std::string_view text, const std::string& file);

/// Objects whose keys are the program's own settings, and "name" and "command": one, a list of them, or one a line.
FoundDeployments in_manifest(std::string_view text, const std::string& file);

/// The commands of a shell script that run a runtime.
FoundDeployments in_script(std::string_view text, const std::string& file);

/// All of a file, whose kind its name or else its text tells.
FoundDeployments find_deployments(std::string_view text, const std::string& file, const Environment& environment);

/// `text` with "${NAME}", "${NAME:-default}" and "$NAME" replaced by what `environment` has; "$$" is a dollar. What it
/// has not stays as it is.
std::string expanded(std::string_view text, const Environment& environment);

/// The words of the command as a shell reads them, or why it cannot.
void set_command(FoundDeployment& deployment, const std::string& command);

/// Line by line, numbered from 1.
struct FileLine {
    std::string_view text;
    std::size_t number = 0;
};
std::vector<FileLine> file_lines(std::string_view text);

/// "FILE:LINE: ", for messages.
std::string place(const std::string& file, std::size_t line);

} // namespace vramfit
