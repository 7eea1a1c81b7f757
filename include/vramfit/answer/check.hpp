#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/answer/settings_text.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Deployments in files that people have, each checked: the services of a compose file, the models of llama-swap's
/// configuration, ExecStart= of a systemd unit, a preset of llama-server, an Ollama Modelfile, the commands of a shell
/// script, and a manifest of the program's own: JSON objects, one, a list or one a line, whose keys are the names of
/// its options, and "name" and "command".

struct CheckedDeployment {
    std::string file;
    std::size_t line = 0;         ///< from 1
    std::string name;             ///< of the service, the model; empty where the file gives it none
    Request request;              ///< as far as it could be read
    std::optional<Answer> answer; ///< nothing where the question could not be answered
    std::string error;            ///< why not; empty where there is nothing to answer:
    bool no_model = false;        ///< a server that loads whatever it is asked for (ollama serve): settings alone
    std::vector<std::string> notes;
};

/// Every deployment in `text`, the content of `file`. `options` count before what the file says; `environment` is what
/// "${NAME}" in it may stand for. Throws Error for a file that cannot be read and for one without a deployment.
std::vector<CheckedDeployment> check_file(std::string_view text, const std::string& file,
                                          const std::vector<SettingText>& options, const ModelSources& sources,
                                          bool use_environment = true);

} // namespace vramfit
