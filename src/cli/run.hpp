#pragma once

#include "cli/commands.hpp"
#include "cli/execute.hpp"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace vramfit::cli {

/// Puts the command in this program's place; returns only where there is no such place, with an exit code.
using ExecFunction = std::function<int(const std::vector<std::string>& command)>;

/// The whole program but for the process around it: `args` without the program's name. Returns the exit code.
/// Where it fails, nothing goes to `out` and one line, "vramfit: ...", to `err`. `sources`: where commands other than
/// the main job look for models; `answer` has its own. `exec` runs what `--exec` asks for.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal,
        const AnswerFunction& answer, const ModelSources& sources = {}, const ExecFunction& exec = execute);

} // namespace vramfit::cli
