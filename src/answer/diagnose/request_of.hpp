#pragma once

#include "conclude.hpp"

namespace vramfit {

/// The question that a load asked of the hardware: the settings that its log shows, under what `hints` say. Model and
/// quantization are those of the diagnosis; what is not known stays open.
Request request_of(const Load& load, const Diagnosis& diagnosis, const Request& hints);

} // namespace vramfit
