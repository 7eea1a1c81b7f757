#pragma once

#include "conclude.hpp"
#include "subject.hpp"

namespace vramfit {

/// Puts the diagnosis into words: `summary`, and the notes about what is often taken for the cause.
void add_sentences(Diagnosis& diagnosis, const Load& load, const Subject& subject);

} // namespace vramfit
