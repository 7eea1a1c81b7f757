#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/answer.hpp"

#include <string>

namespace vramfit::cli {

/// The answer as JSON of schema `vramfit/estimate/1` (data/schema/estimate.json).
std::string render_json(const Answer& answer);

/// The answer for a person: the verdict first, at most 80 columns.
std::string render_text(const Answer& answer, const Terminal& terminal);

/// The arithmetic behind the answer, term by term.
std::string render_explanation(const Answer& answer, const Terminal& terminal);

} // namespace vramfit::cli
