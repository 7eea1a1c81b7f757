#pragma once

#include "conclude.hpp"

namespace vramfit {

/// Puts the diagnosis into words: `summary`, `arithmetic` and the notes about what is often taken for the cause.
void add_sentences(Diagnosis& diagnosis, const Load& load, const Request& request);

} // namespace vramfit
