#pragma once

#include "vramfit/answer/answer.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/serving.hpp"

#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// The devices with nothing on them, as an engine sees them: `available` is what it may use, `overhead` what its
/// process takes of that beside its tensors.
std::vector<DeviceAnswer> serving_devices(const std::vector<Device>& devices, const ServingProfile& engine,
                                          const Request& request);

/// Bytes of a device that the engine keeps for activations, where it does not measure them (Budget::static_share).
std::uint64_t kept_for_activations(const DeviceAnswer& device, const ServingProfile& engine, const Request& request,
                                   std::size_t n_devices);

/// The share that is in effect; 0 where the engine has none.
double share_in_effect(const Device& device, const ServingProfile& engine, const Request& request,
                       std::size_t n_devices);

/// The largest share that the engine starts with on devices as full as they are, in hundredths.
double startable_share(const std::vector<Device>& devices, const Request& request);

/// Why the engine does not start on a device as full as that (Budget::share), or nothing.
std::optional<std::string> startup_refusal(const std::vector<Device>& devices, const ServingProfile& engine,
                                           const Request& request);

/// Why the engine refuses a context that the model was not trained for, or nothing.
std::optional<std::string> refusal_above_trained(const ServingProfile& engine, const Request& request,
                                                 const Model& model);

/// What the caches hold, of devices that were filled in.
std::optional<ServingAnswer> serving_answer(const ServingEstimator& serving, const ServingProfile& engine,
                                            const Deployment& deployment, const std::vector<DeviceAnswer>& devices);

} // namespace vramfit
