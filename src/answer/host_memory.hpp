#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/runtime.hpp"

#include <vector>

namespace vramfit {

/// What a server keeps in the computer's memory as it is used, at most: prompts put aside, and states to go back to,
/// which models with sliding windows or recurrent layers need (tools/server/server-context.cpp). `estimate` is of the
/// model alone.
HostGrowth host_growth(const RuntimeProfile& runtime, const Model& model, const Settings& settings,
                       const MemoryEstimate& estimate);

/// Do the host's parts fit into `ram`? Devices that share the computer's memory take from it as well.
HostAnswer judge_host(std::uint64_t ram, std::uint64_t margin, const MemoryEstimate& estimate,
                      const std::vector<Device>& devices);

} // namespace vramfit
