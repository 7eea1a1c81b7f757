#pragma once

#include "command.hpp"
#include "judge.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// Who chose the context: the person or the model's source; the search for the largest that fits; the runtime.
enum class ContextSource : std::uint8_t { said, largest, by_default };

/// What a person should know beside the figures: a line each.
std::vector<std::string> notes_of(Judge& judge, const Request& request, const Trial& trial, ContextSource source);

/// What the command does not say, and where it belongs.
void note_command(std::vector<std::string>& notes, const Judge& judge, const Command& command);

/// For a deployment that does not fit and that no change helps: the GPU that it wants.
std::string note_without_advice(const Judge& judge, const Trial& trial);

} // namespace vramfit
