#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/check.hpp"

#include <string>
#include <vector>

namespace vramfit::cli {

/// One row a deployment, at most 80 columns.
std::string render_check_text(const std::vector<CheckedDeployment>& rows, const Terminal& terminal);

/// Schema `vramfit/check/1` (data/schema/check.json).
std::string render_check_json(const std::vector<CheckedDeployment>& rows);

/// Annotations of a GitHub workflow: an error a deployment that does not fit or could not be answered, a warning for one
/// that is tight (with `strict` an error, too), a notice for the others.
std::string render_check_github(const std::vector<CheckedDeployment>& rows, bool strict);

} // namespace vramfit::cli
