#pragma once

#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/placement.hpp"
#include "vramfit/memory/runtime.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The runtime's backend for a device: "cuda", "rocm", "metal" or "vulkan".
std::string_view backend_of(Device::Kind kind);

/// The name of a device's buffers, as llama.cpp writes it: "CUDA1" for the second of its CUDA devices.
std::string buffer_name(const std::vector<Device>& devices, std::size_t index, const RuntimeProfile& runtime);

/// Reads overrides as llama.cpp does (common/arg.cpp, `parse_tensor_buffer_overrides`): "REGEX=BUFFER", several of them
/// divided by commas. The first = ends a pattern, so a pattern holds neither sign. Throws Error for anything else, and
/// for a buffer that no device has.
std::vector<TensorOverride> parse_overrides(const std::vector<std::string>& texts, const std::vector<Device>& devices,
                                            const RuntimeProfile& runtime);

} // namespace vramfit
