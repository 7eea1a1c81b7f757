#include "advisor.hpp"

#include "answer/command.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// Below three bits a weight, much of what the model knew is lost.
bool loses_much(FileType type) {
    switch (type) {
    case FileType::q2_k:
    case FileType::iq2_m:
    case FileType::iq2_xs:
    case FileType::iq2_xxs:
    case FileType::iq1_m:
    case FileType::iq1_s: return true;
    default: return false;
    }
}

} // namespace

Change quant_change(const Advisor& advisor, Request request, FileType type) {
    const std::string name(traits(type).name);
    Change change;
    change.kind = "quant";
    change.summary = "weights in " + name + (loses_much(type) ? " (much loss of quality)" : "");
    change.set = {{"quant", name}};
    change.file = model_file(advisor.runtime(), type);
    if (advisor.runtime().can_set("model")) change.write(advisor.runtime(), "model", change.file);
    request.quant = name;
    change.request = std::move(request);
    return change;
}

std::vector<std::pair<FileType, std::uint64_t>> smaller_file_types(Advisor& advisor, Loss loss) {
    std::vector<std::pair<FileType, std::uint64_t>> types;
    if (!advisor.model().file_type.empty()) return types; // a file holds what it holds
    const bool imatrix = advisor.request().imatrix;
    std::uint64_t last = advisor.base().estimate.tensor_bytes;
    for (const FileType type : file_types_of(advisor.model())) {
        if (loses_much(type) != (loss == Loss::much)) continue;
        if (advisor.judge().estimator().quant_refusal(type, imatrix)) continue;
        const std::uint64_t bytes = advisor.judge().estimator().tensor_bytes(type, imatrix);
        if (bytes >= last) continue;
        last = bytes;
        types.emplace_back(type, bytes);
    }
    return types;
}

void advise_quant(Advisor& advisor, Loss loss) {
    if (advisor.base().verdict == Verdict::refused || !advisor.may_help(advisor.worst().memory.weights)) return;
    // Beside what loses less, a tight fit at the price of much is no help.
    const auto fits = [](const Suggestion& s) { return s.kind == "quant" && s.verdict == Verdict::fit; };
    if (std::ranges::any_of(advisor.kept(), fits)) return;
    bool tight = loss == Loss::much && !advisor.kept().empty();
    const Verdict easiest = advisor.base().verdict == Verdict::oom ? Verdict::tight : Verdict::fit;
    for (const auto& [type, bytes] : smaller_file_types(advisor, loss)) {
        if (!advisor.weights_may_help(advisor.base(), bytes, tight ? Verdict::fit : easiest)) continue;
        const Change change = quant_change(advisor, advisor.request(), type);
        const Trial trial = advisor.judge().attempt(change.request);
        if (trial.verdict == Verdict::fit || !tight) advisor.keep(change, trial);
        if (trial.verdict == Verdict::fit) return;
        tight = tight || trial.verdict == Verdict::tight;
    }
}

} // namespace vramfit
