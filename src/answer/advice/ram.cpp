#include "advisor.hpp"

#include "answer/search.hpp"

#include <algorithm>
#include <map>

namespace vramfit {
namespace {

/// What a device has to spare, whatever the computer has.
std::int64_t spare_of_devices(Trial trial, Verdict goal) {
    trial.ram.reset();
    return trial.spare(goal);
}

Change more_layers(const Advisor& advisor, std::uint64_t n_layers) {
    return layers_change(advisor, n_layers,
                         std::to_string(n_layers) + " of " + std::to_string(advisor.model().n_block() + 1) +
                             " layers on the GPU instead of in RAM");
}

Change more_experts(const Advisor& advisor, std::uint64_t n_layers) {
    return experts_change(advisor, n_layers,
                          n_layers == 0 ? "all experts on the GPU instead of in RAM"
                                        : "the experts of only " + std::to_string(n_layers) + " of " +
                                              std::to_string(advisor.model().n_layer()) + " layers in RAM");
}

/// Goes as far as the devices allow, which takes most from the computer's memory, and keeps that where it is enough.
template <typename Make, typename Search>
void advise_most(Advisor& advisor, std::uint64_t now, Make make, Search search) {
    std::map<std::uint64_t, Trial> tried;
    const auto spare = [&](std::uint64_t x, Verdict goal) {
        if (x == now) return spare_of_devices(advisor.base(), goal);
        const auto [it, added] = tried.try_emplace(x);
        if (added) it->second = advisor.judge().attempt(make(advisor, x).request);
        return spare_of_devices(it->second, goal);
    };
    for (const Verdict goal : {Verdict::fit, Verdict::tight}) {
        if (!advisor.helps(goal)) return;
        const auto found = search([&](std::uint64_t x) { return spare(x, goal); });
        if (!found || *found == now || !advisor.helps(tried.at(*found).verdict)) continue;
        advisor.keep(make(advisor, *found), tried.at(*found));
        return;
    }
}

} // namespace

void advise_ram(Advisor& advisor) {
    const Trial& base = advisor.base();
    if (!base.ram || base.ram->verdict == Verdict::fit) return;
    const std::uint64_t all_layers = std::uint64_t{advisor.model().n_block()} + 1;
    const std::int64_t n_layers = base.deployment.placement.n_gpu_layers;
    if (n_layers >= 0 && static_cast<std::uint64_t>(n_layers) < all_layers) {
        const auto now = static_cast<std::uint64_t>(n_layers);
        advise_most(advisor, now, more_layers,
                    [&](const Spare& spare) { return last_that_fits(now, all_layers, spare); });
    }
    const std::uint64_t now = std::min<std::uint64_t>(advisor.request().n_cpu_moe, advisor.model().n_layer());
    if (now > 0)
        advise_most(advisor, now, more_experts, [&](const Spare& spare) { return first_that_fits(0, now, spare); });
}

} // namespace vramfit
