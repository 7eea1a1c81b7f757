#pragma once

#include "cli/fit_options.hpp"
#include "cli/terminal.hpp"
#include "vramfit/answer/solve.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace vramfit::cli {

/// Exit codes, for ever.
enum ExitCode : int {
    exit_good = 0,  ///< it fits; something was listed
    exit_bad = 1,   ///< it does not fit, or is refused; nothing matches
    exit_error = 2, ///< the question could not be answered
};

/// What a command has to say when it succeeds.
struct CommandResult {
    std::string text; ///< for standard output
    int exit_code = exit_good;
    std::string remark = {}; ///< a line for standard error: why there is nothing to show
    bool refuses = false;    ///< the text is for standard error: standard output is that of what does not run
    std::vector<std::string> exec = {}; ///< the command that takes this program's place
};

/// Answers the question of the main job; the library's `solve`, except in tests.
using AnswerFunction = std::function<Solution(const Request&)>;

using Arguments = std::span<const std::string>; ///< without the program and the command

// One file a command. Each throws Error where it cannot answer.
/// `command`: "--" and a runtime's command line behind it, or nothing.
CommandResult fit_command(Arguments arguments, Arguments command, const Terminal& terminal,
                          const AnswerFunction& answer, const ModelSources& sources);
CommandResult models_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
CommandResult inspect_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
CommandResult diagnose_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
CommandResult compare_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
CommandResult check_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
CommandResult gpus_command(Arguments arguments, const Terminal& terminal);
CommandResult quants_command(Arguments arguments, const Terminal& terminal);
CommandResult runtimes_command(Arguments arguments, const Terminal& terminal);

} // namespace vramfit::cli
