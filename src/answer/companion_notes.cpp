#include "companion_notes.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

using Notes = std::vector<std::string>;

void note_projector(Notes& notes, const ProjectorAnswer& projector) {
    std::string text = "the projector's compute buffer is modelled";
    if (projector.weights_basis == Basis::typical) text += ", and its weights are those of a typical F16 file";
    notes.push_back(text);
    if (projector.largest > 0)
        notes.push_back("images of the largest size that the projector lets through need " +
                        format_bytes(projector.largest - projector.compute) + " more than is planned at start");
}

void note_draft(Notes& notes, const DraftAnswer& draft) {
    if (!draft.mtp) return;
    std::string text = "the MTP block drafts in a context of its own, whose compute buffer";
    text += draft.kv_basis == Basis::exact ? " is modelled" : " and cache are modelled";
    notes.push_back(text);
}

} // namespace

void note_companions(Notes& notes, const Request& request, const Trial& trial) {
    const CompanionMemory& companions = trial.companions;
    if (companions.projector) note_projector(notes, *companions.projector);
    if (companions.draft) note_draft(notes, *companions.draft);
    if (!companions.adapters.empty())
        notes.push_back("nobody has measured the compute buffer with LoRA adapters: it may be larger by " +
                        format_bytes(trial.estimate.compute_error));
    notes.insert(notes.end(), companions.notes.begin(), companions.notes.end());
    if (request.draft && request.mtp) notes.push_back("the draft model drafts, not the MTP block");
}

void note_host(Notes& notes, const Judge& judge, const Trial& trial) {
    if (!trial.ram) return;
    const HostAnswer& ram = *trial.ram;
    if (ram.shared > 0) notes.push_back("the device has no memory of its own: what lies there counts in RAM, too");
    const std::uint64_t growth = trial.growth.sum();
    if (growth > 0) {
        const auto hint = [&](const char* kind) { // which flag changes it
            const auto known = judge.runtime().hints.find(kind);
            return known == judge.runtime().hints.end() ? std::string() : " (" + known->second + ")";
        };
        std::string text =
            judge.runtime().program + " may take " + format_bytes(growth) + " more of RAM as it is used: ";
        if (trial.growth.prompt_cache > 0)
            text += "up to " + format_bytes(trial.growth.prompt_cache) + " of prompts put aside" + hint("prompt_cache");
        if (trial.growth.checkpoints > 0)
            text += (trial.growth.prompt_cache > 0 ? " and " : "") + std::string("about ") +
                    format_bytes(trial.growth.checkpoints) + " of states to go back to" + hint("checkpoints");
        const bool room = ram.headroom >= 0 && static_cast<std::uint64_t>(ram.headroom) >= growth;
        notes.push_back(text + (room ? "" : ", for which there is no room"));
    }
    if (trial.estimate.host.weights > 0)
        notes.push_back("weights in RAM are mapped from the file: other programs can push them out, at the price of "
                        "reading them again");
}

} // namespace vramfit
