#pragma once

#include "log_facts.hpp"
#include "subject.hpp"

#include "vramfit/answer/request.hpp"

namespace vramfit {

/// Holds what the estimator would be asked against the log's own figures, and works out those that the log does not show:
/// the cache of a context, as "requested". Where one device was asked for the whole cache
/// and the log does not show the context, the one whose cache is exactly as large is filled in, as a figure of line 0.
/// Where the log has more cache than the model can have, or more devices than were named, `subject.agrees` says so: then
/// something is at work that the estimator does not know of, and a note tells what.
void check_agreement(Diagnosis& diagnosis, const Load& load, Request& request, Subject& subject);

} // namespace vramfit
