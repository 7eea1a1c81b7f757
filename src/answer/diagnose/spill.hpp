#pragma once

#include "log_facts.hpp"

namespace vramfit {

/// Notes what came up though it had no room, or next to none: Windows and macOS take memory elsewhere instead of
/// refusing it, and the program is slow.
void add_spill_notes(Diagnosis& diagnosis, const Load& load);

} // namespace vramfit
