#include "serving_devices.hpp"

#include "serving_text.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>
#include <cmath>

namespace vramfit {
namespace {

using Budget = ServingProfile::Budget;

/// What CUDA shows of a device, whatever is free of it.
std::uint64_t visible_total(const Device& device) {
    Device whole = device;
    whole.free.reset();
    const std::uint64_t driver = overhead_of(whole).driver;
    return device.total - std::min(device.total, driver);
}

std::uint64_t share_of_total(const Device& device, double share) {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(visible_total(device)) * share));
}

void add(DeviceAnswer& device, const char* name, const TypicalBytes& part) {
    if (part.high == 0) return;
    device.overhead += part.value;
    device.overhead_low += part.low;
    device.overhead_high += part.high;
    device.overhead_basis += (device.overhead_basis.empty() ? "" : ", ") + std::string(name) + " " +
                             format_mib(part.value) + " (typical, " + std::to_string(part.low / mib) + " to " +
                             std::to_string(part.high / mib) + " seen)";
}

DeviceAnswer with_process(const Device& device) {
    const Overhead overhead = overhead_of(device);
    DeviceAnswer answer;
    answer.overhead = overhead.sum();
    answer.overhead_low = overhead.low;
    answer.overhead_high = overhead.high;
    answer.overhead_basis = overhead.basis_text;
    return answer;
}

/// What is free of what CUDA shows.
std::uint64_t visible_free(const Device& device, const Request& request) {
    const std::uint64_t total = visible_total(device);
    const std::uint64_t usable = std::min(device.free.value_or(total), total);
    return usable - std::min(usable, request.reserve.value_or(0));
}

DeviceAnswer serving_device(const Device& device, const ServingProfile& engine, const Request& request,
                            std::size_t n_devices) {
    DeviceAnswer answer = engine.own_context ? DeviceAnswer() : with_process(device);
    answer.name = device.name;
    answer.total = device.total;
    answer.reserve = request.reserve.value_or(0);
    const std::uint64_t usable = device.free.value_or(device.total);
    answer.available = usable - std::min(usable, answer.reserve);
    if (engine.budget == Budget::share)
        answer.available = share_of_total(device, share_in_effect(device, engine, request, n_devices));
    add(answer, "process", engine.non_torch);
    if (n_devices > 1) add(answer, "communication", engine.communicator);
    if (request.cuda_graphs) add(answer, "CUDA graphs", engine.graphs);
    answer.overhead_error = answer.overhead_high - std::min(answer.overhead_high, answer.overhead);
    return answer;
}

} // namespace

double share_in_effect(const Device& device, const ServingProfile& engine, const Request& request,
                       std::size_t n_devices) {
    if (engine.budget == Budget::all) return 0;
    if (request.memory_share) return *request.memory_share;
    return engine.budget == Budget::share ? engine.share : engine.static_share(device.total, n_devices);
}

std::vector<DeviceAnswer> serving_devices(const std::vector<Device>& devices, const ServingProfile& engine,
                                          const Request& request) {
    std::vector<DeviceAnswer> answers;
    answers.reserve(devices.size());
    for (const Device& device : devices) answers.push_back(serving_device(device, engine, request, devices.size()));
    return answers;
}

std::uint64_t kept_for_activations(const DeviceAnswer& device, const ServingProfile& engine, const Request& request,
                                   std::size_t n_devices) {
    if (engine.budget != Budget::static_share) return 0;
    const double share = request.memory_share.value_or(engine.static_share(device.total, n_devices));
    const std::uint64_t before = device.available - std::min(device.available, device.overhead);
    return before - static_cast<std::uint64_t>(static_cast<double>(before) * share);
}

double startable_share(const std::vector<Device>& devices, const Request& request) {
    double least = 1;
    for (const Device& device : devices)
        least = std::min(least, static_cast<double>(visible_free(device, request)) /
                                    static_cast<double>(std::max<std::uint64_t>(1, visible_total(device))));
    constexpr double hundredths = 100;
    return std::floor(least * hundredths) / hundredths;
}

std::optional<std::string> startup_refusal(const std::vector<Device>& devices, const ServingProfile& engine,
                                           const Request& request) {
    if (engine.budget != Budget::share) return std::nullopt;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const double share = share_in_effect(devices[i], engine, request, devices.size());
        const std::uint64_t total = visible_total(devices[i]);
        const std::uint64_t free = visible_free(devices[i], request);
        const std::uint64_t wanted = share_of_total(devices[i], share);
        if (free >= wanted) continue;
        return engine.message("startup", {{"device", std::to_string(i)},
                                          {"free", two_digits(free)},
                                          {"total", two_digits(total)},
                                          {"share", share_text(share)},
                                          {"wanted", two_digits(wanted)}});
    }
    return std::nullopt;
}

std::optional<std::string> refusal_above_trained(const ServingProfile& engine, const Request& request,
                                                 const Model& model) {
    const std::uint64_t trained = model.n_ctx_train();
    const std::uint64_t n_ctx = request.n_ctx.value_or(0);
    if (trained == 0 || n_ctx <= trained) return std::nullopt;
    std::string message =
        engine.message("above_trained", {{"n_ctx", std::to_string(n_ctx)}, {"trained", std::to_string(trained)}});
    return message.empty() ? std::nullopt : std::optional(std::move(message));
}

std::optional<ServingAnswer> serving_answer(const ServingEstimator& serving, const ServingProfile& engine,
                                            const Deployment& deployment, const std::vector<DeviceAnswer>& devices) {
    if (engine.cache.rule == CacheRule::growing) return std::nullopt;
    std::optional<ServingAnswer> least;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const DeviceMemory& m = devices[i].memory;
        const std::uint64_t others = devices[i].required - m.kv_cache - m.recurrent_state;
        const std::uint64_t room = devices[i].available - std::min(devices[i].available, others);
        const ServingCache cache = serving.cache(deployment, static_cast<std::uint32_t>(i));
        const ServingAnswer here{cache.tokens(room),
                                 cache.concurrency(room, deployment.settings.n_ctx, deployment.settings.n_batch)};
        if (!least || here.max_concurrency < least->max_concurrency) least = here;
    }
    return least;
}

} // namespace vramfit
