#pragma once

#include "vramfit/answer/request.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/memory/runtime.hpp"

#include <string>
#include <vector>

namespace vramfit {

/// The deployment that a request means to an engine that is not llama.cpp (RuntimeProfile::serving). Throws Error for a
/// setting, a weight format or a cache type that it does not have.
Deployment serving_deployment(const Model& model, const RuntimeProfile& runtime, const std::vector<Device>& devices,
                              const Request& request);

/// The cache type in effect.
const CacheDtype& cache_dtype_of(const RuntimeProfile& runtime, const Request& request);

} // namespace vramfit
