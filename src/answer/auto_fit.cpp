#include "auto_fit.hpp"

#include "auto_fit_layers.hpp"

#include <algorithm>
#include <limits>

namespace vramfit {
namespace {

constexpr std::uint64_t most_ctx = std::numeric_limits<std::uint32_t>::max(); // tokens are counted in 32 bits
constexpr std::uint64_t cells_step = 256;

/// Signed, so that what is missing can be counted.
std::int64_t sum_of(const std::vector<Projected>& devices, std::uint64_t Projected::*part) {
    std::int64_t sum = 0;
    for (const Projected& device : devices) sum += static_cast<std::int64_t>(device.*part);
    return sum;
}

std::int64_t sum_of(const std::vector<std::uint64_t>& numbers) {
    std::int64_t sum = 0;
    for (const std::uint64_t number : numbers) sum += static_cast<std::int64_t>(number);
    return sum;
}

bool leaves_margins(const std::vector<Projected>& devices, const FitLimits& limits) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (static_cast<std::int64_t>(limits.free[i]) - static_cast<std::int64_t>(devices[i].sum) <
            static_cast<std::int64_t>(limits.margins[i]))
            return false;
    }
    return true;
}

/// `room` * `part` / `whole`, rounded down.
std::uint64_t share_of(std::uint64_t room, std::int64_t part, std::int64_t whole) {
    const auto a = static_cast<std::uint64_t>(part);
    const auto b = static_cast<std::uint64_t>(whole);
    if (room <= std::numeric_limits<std::uint64_t>::max() / a) return room * a / b;
    return static_cast<std::uint64_t>(static_cast<double>(room) * (static_cast<double>(a) / static_cast<double>(b)));
}

/// Step 2: the context that the devices have room for, if their memory is taken together.
class ContextStep {
public:
    ContextStep(const Model& model, const FitLimits& limits, const Project& project)
        : model_(model),
          limits_(limits),
          project_(project) {}

    /// Bytes that all devices together are to take at most.
    std::int64_t target(const std::vector<Projected>& full, const Settings& settings) const {
        std::int64_t target = sum_of(limits_.free) - sum_of(limits_.margins);
        const auto n_devices = static_cast<std::int64_t>(limits_.free.size());
        const std::uint32_t n_layers = countable_layers(model_, settings);
        if (n_devices > 1 && n_layers > 0) {
            // Only whole layers fill a device, or whole tensors of a layer's experts: some room stays unused.
            const std::int64_t a_layer = sum_of(full, &Projected::weights) / n_layers;
            const std::int64_t shares = model_.hparams.get("expert_count", 0) > 0 ? 6 : 2;
            target -= (n_devices + 1) * a_layer / shares;
        }
        return target;
    }

    /// Sets the context of `d`, which is at its most and takes `full`. Does all of the model have room with it?
    bool reduce(Deployment& d, const std::vector<Projected>& full, std::uint64_t n_streams) const {
        const std::uint64_t most = d.settings.n_ctx;
        const std::uint64_t least = std::min(limits_.least_ctx * n_streams, most_ctx);
        if (most <= least) return false;
        const std::int64_t wanted = target(full, d.settings);
        d.settings.n_ctx = least;
        const std::int64_t at_least = sum_of(project_(d), &Projected::sum);
        const std::int64_t at_most = sum_of(full, &Projected::sum);
        if (wanted <= at_least || at_most <= at_least) return false;
        // Both ends are known, and between them the line that goes through them.
        const std::uint64_t n_ctx = least + share_of(most - least, wanted - at_least, at_most - at_least);
        d.settings.n_ctx = std::max(n_ctx - n_ctx % (cells_step * n_streams), least);
        return true;
    }

private:
    const Model& model_;
    const FitLimits& limits_;
    const Project& project_;
};

} // namespace

AutoFit auto_fit(const Model& model, const Deployment& asked, bool fixed_ctx, const FitLimits& limits,
                 const Project& project) {
    AutoFit fit;
    Deployment& d = fit.deployment;
    d = asked;
    const std::uint64_t n_streams = d.settings.kv_unified ? 1 : std::max<std::uint64_t>(1, d.settings.n_seq_max);
    if (d.settings.n_ctx == 0) d.settings.n_ctx = std::min(model.n_ctx_train() * n_streams, most_ctx);

    const std::vector<Projected> full = project(d);
    if (leaves_margins(full, limits)) return fit;

    const bool in_all_too_much = sum_of(full, &Projected::sum) + sum_of(limits.margins) > sum_of(limits.free);
    if (in_all_too_much && !fixed_ctx) {
        const std::uint64_t most = d.settings.n_ctx;
        const bool enough = ContextStep(model, limits, project).reduce(d, full, n_streams);
        fit.context_reduced = d.settings.n_ctx < most;
        if (enough && limits.free.size() <= 1) return fit;
    }
    if (limits.placement_given) {
        fit.gives_up = limits.placement_given;
        return fit;
    }
    d.placement = fit_layers(model, d, limits, project);
    fit.placed = true;
    return fit;
}

} // namespace vramfit
