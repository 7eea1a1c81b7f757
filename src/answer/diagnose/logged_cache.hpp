#pragma once

#include "log_facts.hpp"
#include "subject.hpp"

#include "vramfit/answer/request.hpp"

namespace vramfit {

/// What the size of the cache in the log tells of the request. Where one device was asked for all of it and the log does
/// not show the context, the one whose cache is exactly as large is filled in, as a figure of line 0. Where the log's
/// cache is larger than the model's can be, `subject.cache_agrees` says so: then settings or a build are at work that the
/// estimator does not know of.
void heed_logged_cache(Diagnosis& diagnosis, const Load& load, Request& request, Subject& subject);

} // namespace vramfit
