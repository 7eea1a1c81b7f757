#pragma once

#include <string>
#include <vector>

namespace vramfit::cli {

/// Replaces this process by the command, so that its signals, its output and its exit code are the command's own.
/// Assignments before the program ("A=B llama-server ...") are those of its environment. Throws Error where it cannot be
/// run, and on systems without exec.
int execute(const std::vector<std::string>& command);

} // namespace vramfit::cli
