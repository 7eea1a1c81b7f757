#pragma once

#include "vramfit/answer/table.hpp"

namespace vramfit::cli {

/// An answer as a table, for formats that have rows: one a device, and one for the computer's own memory.
Table table_of(const Answer& answer);

} // namespace vramfit::cli
