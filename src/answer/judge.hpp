#pragma once

#include "companions.hpp"
#include "request_settings.hpp"
#include "vramfit/answer/answer.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/memory/serving.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace vramfit {

/// A deployment that was tried: what it takes, and what that means on the devices.
struct Trial {
    Deployment deployment;
    MemoryEstimate estimate;
    std::vector<DeviceAnswer> devices;
    CompanionMemory companions;
    std::optional<HostAnswer> ram;
    HostGrowth growth;
    std::optional<ServingAnswer> serving;
    double share = 0; ///< of a device that the engine takes, where it takes one
    Verdict verdict = Verdict::fit;

    /// Bytes to spare on the worst device before the verdict is worse than `goal` (fit or tight); negative: missing.
    /// A refused deployment misses everything.
    std::int64_t spare(Verdict goal) const;

    /// The device that misses most, or has least to spare.
    const DeviceAnswer& worst() const;
};

/// Does attention run on the CPU in `trial`, where it did not in `other`, a trial of the same model? The device has no
/// kernel for it then (ggml-cuda.cu, ggml_backend_cuda_device_supports_op), and each layer costs a way there and back.
bool attention_left(const Trial& trial, const Trial& other);

/// The devices that a request names. Throws Error where it names none, unknown or too many ones.
std::vector<Device> requested_devices(const Request& request);

/// Tries requests that have model, runtime and devices in common and differ in their settings.
class Judge {
public:
    /// Looks up runtime and devices. Throws Error where the request names none, or unknown ones.
    Judge(const Request& request, Estimator& estimator);
    Judge(const Judge&) = delete; // its parts point at each other
    Judge& operator=(const Judge&) = delete;

    /// Throws Error for a request that cannot be deployed (an unknown file type, a cache type that the runtime has
    /// not, a file type that cannot be made, an impossible context).
    Trial attempt(const Request& request);

    Deployment deployment(const Request& request) const;

    Estimator& estimator() { return estimator_; }
    const Model& model() const { return estimator_.model(); }
    const RuntimeProfile& runtime() const { return runtime_; }
    const std::vector<Device>& devices() const { return devices_; }
    /// The same with nothing on them.
    const std::vector<DeviceAnswer>& empty_devices() const { return blank_; }
    Companions& companions() { return companions_; }
    std::uint64_t margin() const { return margin_; }
    /// Bytes of all devices together.
    std::uint64_t gpu_memory() const;
    /// The compute buffer follows rules that were measured with CUDA alone ...
    bool all_cuda() const;
    /// ... and with this runtime.
    bool compute_measured() const;
    /// Bytes by which the caches grow with a token.
    std::uint64_t kv_bytes_per_token(const Deployment& deployment);

private:
    void fill_in(Trial& trial);
    void serve(const Request& request, Trial& trial);
    Verdict judge_device(DeviceAnswer& device) const;
    Outlook outlook(const Deployment& d, std::optional<std::size_t> one) const;
    /// The device that takes the whole model, where the runtime expects one to.
    std::optional<std::size_t> one_gpu(const Request& request, const Deployment& d) const;

    Estimator& estimator_;
    RuntimeProfile runtime_;
    std::optional<ServingEstimator> serving_; ///< of engines that are not llama.cpp
    Companions companions_;
    std::vector<Device> devices_;
    std::vector<DeviceAnswer> blank_; ///< the devices with nothing on them
    std::uint64_t margin_;
    std::uint64_t tier_overhead_;
};

} // namespace vramfit
