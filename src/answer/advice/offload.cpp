#include "advisor.hpp"

#include "answer/command.hpp"
#include "answer/search.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace vramfit {
namespace {

Change fewer_layers(const Advisor& advisor, std::uint64_t n_layers) {
    return layers_change(advisor, n_layers,
                         n_layers == 0
                             ? "all layers on the CPU (much slower)"
                             : std::to_string(n_layers) + " of " + std::to_string(advisor.model().n_block() + 1) +
                                   " layers on the GPU, the others on the CPU (much slower)");
}

/// Looks for the least of a change that gives `fit`, and where none does and there was no fit at all, `tight`.
/// `now`: the value that the base has, which need not be tried again.
template <typename Make, typename Search>
void advise_least(Advisor& advisor, std::uint64_t now, Make make, Search search) {
    std::map<std::uint64_t, Trial> tried;
    const auto spare = [&](std::uint64_t x, Verdict goal) {
        if (x == now) return advisor.base().spare(goal);
        const auto [it, added] = tried.try_emplace(x);
        if (added) it->second = advisor.judge().attempt(make(advisor, x).request);
        return it->second.spare(goal);
    };
    for (const Verdict goal : {Verdict::fit, Verdict::tight}) {
        if (!advisor.helps(goal)) return;
        const auto found = search([&](std::uint64_t x) { return spare(x, goal); });
        if (!found || *found == now) continue;
        advisor.keep(make(advisor, *found), tried.at(*found));
        return;
    }
}

} // namespace

Change fewer_experts(const Advisor& advisor, std::uint64_t n_layers) {
    const std::uint64_t all = advisor.model().n_layer();
    const std::string whose =
        n_layers == all ? "all experts"
                        : "the experts of " + std::to_string(n_layers) + " of " + std::to_string(all) + " layers";
    return experts_change(advisor, n_layers, whose + " on the CPU (slower)");
}

Change experts_change(const Advisor& advisor, std::uint64_t n_layers, std::string summary) {
    Change change;
    change.kind = "n_cpu_moe";
    change.summary = std::move(summary);
    change.set = {{"n_cpu_moe", n_layers}};
    change.write(advisor.runtime(), "n_cpu_moe", std::to_string(n_layers));
    change.request = advisor.request();
    change.request.n_cpu_moe = static_cast<std::uint32_t>(n_layers);
    return change;
}

Change layers_change(const Advisor& advisor, std::uint64_t n_layers, std::string summary) {
    Change change;
    change.kind = "gpu_layers";
    change.summary = std::move(summary);
    change.set = {{"gpu_layers", n_layers}};
    change.write(advisor.runtime(), "gpu_layers", std::to_string(n_layers));
    change.request = advisor.request();
    change.request.n_gpu_layers = static_cast<std::int64_t>(n_layers);
    return change;
}

void advise_experts(Advisor& advisor) {
    const std::uint64_t now = advisor.request().n_cpu_moe;
    const std::uint64_t all = advisor.model().n_layer();
    if (!advisor.has_experts() || now >= all || advisor.base().verdict == Verdict::refused) return;
    if (!advisor.may_help(advisor.worst().memory.weights)) return;
    advise_least(advisor, now, fewer_experts, [&](const Spare& spare) { return first_that_fits(now, all, spare); });
}

void advise_gpu_layers(Advisor& advisor) {
    const std::int64_t asked = advisor.base().deployment.placement.n_gpu_layers;
    const std::int64_t all = std::int64_t{advisor.model().n_block()} + 1;
    const auto now = static_cast<std::uint64_t>(asked < 0 ? all : std::min(asked, all));
    if (now < 1 || advisor.base().verdict == Verdict::refused) return;
    if (!advisor.may_help(advisor.worst().memory.sum())) return;
    advise_least(advisor, now, fewer_layers, [&](const Spare& spare) { return last_that_fits(0, now, spare); });
}

} // namespace vramfit
