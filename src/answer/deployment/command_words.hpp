#pragma once

#include "command_table.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vramfit {

/// The runtime's own command in a command line: what stands around it is taken away.
struct RuntimeCommand {
    const CommandTable* table;                                    ///< one of command_tables()
    const CommandProgram* program;                                ///< one of its programs
    std::string name;                                             ///< as it was written: "/usr/bin/llama-server"
    std::vector<std::pair<std::string, std::string>> assignments; ///< "env A=B", "A=B", "docker run -e A=B"
    std::vector<std::string> arguments;                           ///< behind the program and its words
    bool inherits = true; ///< it sees the variables of whoever starts it: no container, no `env -i`, no `sudo`
    std::vector<std::string> passed;  ///< variables that it sees all the same: "docker run -e A"
    std::vector<std::string> removed; ///< that it does not see: "env -u A"

    /// Does it see that variable of its starter's?
    bool sees(std::string_view variable) const;
};

/// Looks for a runtime's program in the words of a command: behind assignments, `sudo`, `env`, `nice`, `python -m`, in
/// `sh -c '...'` and `docker run IMAGE`; with a folder before its name, and with ".exe" behind it. Nothing where there
/// is none.
std::optional<RuntimeCommand> find_runtime_command(std::span<const std::string> words);

/// The command that a container of `image` starts with these arguments, where they name no program themselves.
std::vector<std::string> command_of_image(std::string_view image, std::span<const std::string> arguments);

/// "A" and "B" of "A=B"; nothing where the text is no assignment.
std::optional<std::pair<std::string, std::string>> assignment(std::string_view text);

/// "llama-server, vllm serve and ...": what find_runtime_command knows, for messages.
std::string known_programs();

} // namespace vramfit
