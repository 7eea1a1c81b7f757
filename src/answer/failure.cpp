#include "failure.hpp"

#include "overrides.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

struct Stage {
    const char* part;
    const char* when;
    std::uint64_t DeviceMemory::*bytes;
};

constexpr std::array<Stage, 7> stages{{
    {"weights", "load", &DeviceMemory::weights},
    {"kv_cache", "context", &DeviceMemory::kv_cache},
    {"recurrent_state", "context", &DeviceMemory::recurrent_state},
    {"compute", "context", &DeviceMemory::compute},
    {"weights", "load", &DeviceMemory::draft},
    {"weights", "load", &DeviceMemory::projector},
    {"weights", "load", &DeviceMemory::adapters},
}};

} // namespace

std::optional<Failure> failure_of(const Judge& judge, const Request& request, const Trial& trial) {
    if (trial.estimate.refusal) return Failure{"load", std::nullopt, *trial.estimate.refusal};
    if (trial.verdict != Verdict::oom) return std::nullopt;
    if (!request.n_gpu_layers && !judge.runtime().without_gpu_layers.empty())
        return Failure{"load", std::nullopt, judge.runtime().without_gpu_layers};
    std::vector<std::int64_t> left;
    for (const DeviceAnswer& device : trial.devices)
        left.push_back(static_cast<std::int64_t>(device.available) - static_cast<std::int64_t>(device.overhead));
    for (const Stage& stage : stages) {
        for (std::size_t i = 0; i < left.size(); ++i) {
            const std::uint64_t bytes = trial.devices[i].memory.*stage.bytes;
            left[i] -= static_cast<std::int64_t>(bytes);
            if (left[i] < 0 && bytes > 0)
                return Failure{stage.when, std::nullopt,
                               judge.runtime().failure(stage.part, backend_of(judge.devices()[i].kind), i, bytes)};
        }
    }
    const bool on_devices = std::ranges::any_of(trial.devices, [](const auto& d) { return d.verdict == Verdict::oom; });
    if (!on_devices) // the host's memory, then
        return Failure{"load", std::nullopt, "nothing: the system swaps, or ends the program for want of memory"};
    // Not even driver and context find room.
    return Failure{"load", std::nullopt, judge.runtime().failure("weights", backend_of(judge.devices()[0].kind), 0, 0)};
}

} // namespace vramfit
