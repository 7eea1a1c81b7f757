#pragma once

#include "judge.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// What an answer should mention about projector, draft model and adapters.
void note_companions(std::vector<std::string>& notes, const Request& request, const Trial& trial);

/// ... and about the computer's own memory, where somebody asked for it (Request::ram).
void note_host(std::vector<std::string>& notes, const Judge& judge, const Trial& trial);

} // namespace vramfit
