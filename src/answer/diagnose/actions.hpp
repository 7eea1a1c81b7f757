#pragma once

#include "conclude.hpp"
#include "subject.hpp"

namespace vramfit {

/// Fills in what to do, best first: with the estimator's verdict where the model and the memory are known. Options that
/// would tell more go to `Diagnosis::missing`.
void add_actions(Diagnosis& diagnosis, const Load& load, const Request& request, const Subject& subject);

} // namespace vramfit
