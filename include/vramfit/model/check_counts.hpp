#pragma once

#include "vramfit/model/hparams.hpp"

#include <string_view>

namespace vramfit {

/// Throws Error where a number that most sizes depend on is none that a model can have: the context, widths and heads
/// are whole numbers within bounds far above every model. `prefix` stands in front of
/// the key in messages: the file, and what its keys begin with.
void check_counts(const Hparams& hparams, std::string_view prefix);

} // namespace vramfit
