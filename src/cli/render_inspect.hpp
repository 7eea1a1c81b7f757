#pragma once

#include "cli/terminal.hpp"
#include "vramfit/memory/inspection.hpp"
#include "vramfit/model/source.hpp"

#include <string>

namespace vramfit::cli {

/// A model for a person: at most 80 columns.
std::string render_inspect_text(const SourcedModel& loaded, const Inspection& inspection, const Terminal& terminal);

/// The same as JSON of schema `vramfit/inspect/1` (data/schema/inspect.json).
std::string render_inspect_json(const SourcedModel& loaded, const Inspection& inspection);

} // namespace vramfit::cli
