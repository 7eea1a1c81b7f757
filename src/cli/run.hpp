#pragma once

#include "cli/commands.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace vramfit::cli {

/// The whole program but for the process around it: `args` without the program's name. Returns the exit code.
/// Where it fails, nothing goes to `out` and one line, "vramfit: ...", to `err`. `sources`: where commands other than
/// the main job look for models; `answer` has its own.
int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal,
        const AnswerFunction& answer, const ModelSources& sources = {});

} // namespace vramfit::cli
