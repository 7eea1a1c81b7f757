#include "advisor.hpp"

#include "answer/advice.hpp"
#include "answer/command.hpp"

#include <algorithm>
#include <utility>

namespace vramfit {

void Change::write(const RuntimeProfile& runtime, std::string_view setting, const std::string& value) {
    possible = possible && runtime.can_set(setting);
    if (!possible) return;
    const std::vector<std::string> words = runtime.written(setting, value).words;
    // Two settings may be one to the runtime.
    const bool said = std::search(flags.begin(), flags.end(), words.begin(), words.end()) != flags.end();
    if (!said) flags.insert(flags.end(), words.begin(), words.end());
}

Change both(const Change& first, const Change& second) {
    Change change = second;
    change.kind = first.kind;
    change.summary = first.summary + ", and " + second.summary;
    change.set.insert(change.set.begin(), first.set.begin(), first.set.end());
    change.flags.insert(change.flags.begin(), first.flags.begin(), first.flags.end());
    change.possible = first.possible && second.possible;
    if (change.file.empty()) change.file = first.file;
    return change;
}

bool Advisor::may_help(std::uint64_t most) const {
    if (base_.verdict == Verdict::refused) return true;
    const Verdict easiest = base_.verdict == Verdict::oom ? Verdict::tight : Verdict::fit;
    return base_.spare(easiest) + static_cast<std::int64_t>(most) >= 0;
}

bool Advisor::weights_may_help(const Trial& trial, std::uint64_t tensor_bytes, Verdict goal) const {
    // A device's share of the types' sizes varies a little with the mix.
    constexpr double slack = 1.1;
    const std::uint64_t before = trial.estimate.tensor_bytes;
    if (tensor_bytes >= before) return false;
    std::uint64_t sum = trial.estimate.host.weights;
    for (const DeviceAnswer& device : trial.devices) sum += device.memory.weights;
    const double share =
        static_cast<double>(trial.worst().memory.weights) / static_cast<double>(std::max<std::uint64_t>(1, sum));
    const double most = slack * share * static_cast<double>(before - tensor_bytes);
    return static_cast<double>(trial.spare(goal)) + most >= 0;
}

/// On the device that misses most; of the computer's memory where that alone is short.
std::uint64_t Advisor::saved(const Trial& trial) const {
    if (base_.verdict == Verdict::refused) return 0; // there is no compute buffer to compare with
    const auto index = static_cast<std::size_t>(&worst() - base_.devices.data());
    std::uint64_t before = base_.devices[index].required;
    std::uint64_t after = trial.devices[index].required;
    const bool ram_is_short = base_.ram && std::ranges::all_of(base_.devices, [&](const DeviceAnswer& device) {
                                  return device.verdict < base_.ram->verdict;
                              });
    if (ram_is_short) {
        before = base_.ram->required;
        after = trial.ram->required;
    }
    return before > after ? before - after : 0;
}

void Advisor::keep(const Change& change, const Trial& trial, const Judge& judge) {
    if (!change.possible || !helps(trial.verdict)) return;
    Suggestion s;
    s.kind = change.kind;
    s.summary = change.summary;
    s.set = change.set;
    s.verdict = trial.verdict;
    s.flags = change.flags;
    s.command = command_line(judge, change.request,
                             change.file.empty() ? model_file(runtime(), model(), change.request) : change.file);
    s.saved = saved(trial);
    s.request = change.request;
    kept_.push_back(std::move(s));
}

void Advisor::adopt(Suggestion found, const Change& first, const Trial& trial) {
    if (!helps(found.verdict)) return;
    const auto said = std::search(found.flags.begin(), found.flags.end(), first.flags.begin(), first.flags.end());
    if (said == found.flags.end()) found.flags.insert(found.flags.end(), first.flags.begin(), first.flags.end());
    found.set.insert(found.set.end(), first.set.begin(), first.set.end());
    found.summary += ", and " + first.summary;
    found.saved = base_.verdict == Verdict::refused ? 0 : found.saved + saved(trial);
    kept_.push_back(std::move(found));
}

std::uint64_t Advisor::n_ctx() const {
    const bool as_said = runtime().ctx_per_slot || runtime().ctx_extra > 0;
    return as_said ? request_.n_ctx.value_or(0) : base_.estimate.context.n_ctx;
}

Verdict Advisor::consider(const Change& change) {
    if (!change.possible) return Verdict::refused;
    const Trial trial = judge_.attempt(change.request);
    if (leaves_device(trial)) return Verdict::refused;
    keep(change, trial);
    return trial.verdict;
}

std::vector<Suggestion> advice(Judge& judge, const Request& request, const Trial& base, const MaxContext& largest) {
    if (base.verdict == Verdict::fit) return {};
    Advisor advisor(judge, request, base, largest);
    if (judge.runtime().serving) {
        advise_serving(advisor);
        return advisor.take();
    }
    advise_flash_attention(advisor);
    if (advise_with_flash_attention(advisor)) return advisor.take();
    advise_windows(advisor);
    advise_split(advisor);
    if (!leaves_little_context(advisor)) advise_context(advisor);
    advise_cache_types(advisor);
    advise_ram(advisor);
    advise_companions(advisor);
    advise_slots(advisor);
    advise_ubatch(advisor);
    advise_quant(advisor, Loss::little);
    advise_experts(advisor);
    advise_pairs(advisor);
    advise_expert_pairs(advisor);
    if (leaves_little_context(advisor)) advise_context(advisor);
    advise_quant(advisor, Loss::much);
    advise_gpu_layers(advisor);
    advise_sibling(advisor);
    advise_more_gpus(advisor);
    std::vector<Suggestion> suggestions = advisor.take();
    if (request.strict)
        std::stable_partition(suggestions.begin(), suggestions.end(),
                              [](const Suggestion& s) { return s.verdict == Verdict::fit; });
    return suggestions;
}

} // namespace vramfit
