#include "advisor.hpp"

#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::size_t most_cards = 4; // that boards commonly take

/// A card that is plugged in, or a bare size.
bool is_card(const Device& device) {
    const std::vector<GpuInfo> known = match_gpus(device.name);
    return !device.unified && std::ranges::none_of(known, [](const GpuInfo& gpu) { return gpu.kind == "laptop"; });
}

/// Can there be more of the kind: cards of one name, each one device? Those of this machine are what they are.
bool can_be_more(const Advisor& advisor, const std::vector<Device>& devices) {
    const Request& request = advisor.request();
    const Device& first = devices.front();
    return is_card(first) && request.tensor_split.empty() && std::ranges::none_of(request.gpus, means_this_machine) &&
           std::ranges::all_of(devices, [&](const Device& device) { return device.name == first.name; }) &&
           parse_gpu_spec(first.name).size() == 1;
}

Change gpus_change(const Advisor& advisor, const std::string& name, std::size_t now, std::size_t n) {
    const std::string spec = std::to_string(n) + "x" + name;
    Change change;
    change.kind = "gpu";
    change.summary =
        n == 2 ? "a second " + name : std::to_string(n) + " x " + name + " instead of " + std::to_string(now);
    change.set = {{"gpu", spec}}; // llama.cpp uses every GPU that it sees: no flag is needed
    change.request = advisor.request();
    change.request.gpus = {spec};
    change.request.default_n_ctx.reset(); // with more memory it may be another one
    return change;
}

} // namespace

void advise_split(Advisor& advisor) {
    const Request& request = advisor.request();
    const bool one = request.split_mode == SplitMode::none;
    if (advisor.judge().devices().size() < 2 || (!one && request.tensor_split.empty())) return;
    Change change;
    change.kind = "split_mode";
    change.summary = std::string("split over all GPUs by their free memory: without ") +
                     (one ? "--split-mode none" : "--tensor-split");
    change.set = {{"split_mode", std::string("layer")}}; // what is asked for is left out: no flag is needed
    change.request = request;
    change.request.split_mode.reset();
    change.request.tensor_split.clear();
    change.request.main_gpu = 0;
    advisor.consider(change);
}

void advise_more_gpus(Advisor& advisor) {
    const std::vector<Device>& devices = advisor.judge().devices();
    if (advisor.base().verdict == Verdict::refused || !can_be_more(advisor, devices)) return;
    const std::size_t now = devices.size();
    for (std::size_t n = now + 1; n <= most_cards; n = n < most_cards ? most_cards : n + 1) {
        const Change change = gpus_change(advisor, devices.front().name, now, n);
        Judge judge(change.request, advisor.judge().estimator());
        const Trial trial = judge.attempt(change.request);
        if (trial.verdict != Verdict::fit || advisor.leaves_device(trial)) continue;
        advisor.keep(change, trial, judge);
        return;
    }
}

} // namespace vramfit
