#include "spill.hpp"

#include "conclude.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// What lies on a device, and what was free there before.
struct Filling {
    std::string device;
    std::uint64_t used = 0, room = 0;
    bool by_name = false; ///< the room is that of a card of that name: the log does not show it
};

std::vector<Filling> fillings_of(const Diagnosis& diagnosis, const Load& load) {
    std::vector<Filling> fillings;
    for (const LogDevice& device : load.devices) {
        const OptionalLogged room = device.free ? device.free : device.total;
        if (room) fillings.push_back({device.name, load.on_device(device.name), room->value});
    }
    const LogFigure* free = diagnosis.figure("free"); // Ollama tells it of the card, not of a device of llama.cpp's
    if (fillings.empty() && free != nullptr && !diagnosis.device.empty())
        fillings.push_back({diagnosis.device, load.on_device(diagnosis.device), free->value});
    const Budget budget = budget_of(load, diagnosis);
    if (fillings.empty() && budget.most) fillings.push_back({diagnosis.device, budget.used, *budget.most, true});
    return fillings;
}

bool is_windows(const Load& load) {
    const auto windows = [](std::string_view text) {
        return text.find(":\\") != std::string_view::npos || text.find(".exe") != std::string_view::npos;
    };
    return load.windows || windows(load.path) ||
           std::ranges::any_of(load.evidence, [&](const LogLine& line) { return windows(line.text); });
}

/// "7000 MiB of the 7065 MiB that were free on CUDA0 are in use": part of it may lie elsewhere already.
std::string near_full_note(const Filling& filling, const Load& load) {
    const OptionalLogged seconds = load.number("load_seconds");
    constexpr std::uint64_t slow = 60;
    const bool was_slow = seconds && seconds->value >= slow;
    return format_mib(filling.used) + " of the " + format_mib(filling.room) + " that were free on " + filling.device +
           " are in use" +
           (was_slow ? ", and the load took " + std::to_string(seconds->value) + " seconds" : std::string()) +
           ": if it is slow, look whether Windows' task manager shows shared GPU memory in use; the driver spills "
           "there "
           "instead of failing";
}

} // namespace

void add_spill_notes(Diagnosis& diagnosis, const Load& load) {
    for (const Filling& filling : fillings_of(diagnosis, load)) {
        const bool near_full = filling.used >= filling.room - filling.room / 20;
        if (filling.used <= filling.room) {
            if (!diagnosis.oom && near_full && load.ready && is_windows(load))
                diagnosis.notes.push_back(near_full_note(filling, load));
            continue;
        }
        const std::string sizes = format_mib(filling.used) + " lie where " + format_mib(filling.room) +
                                  (filling.by_name ? " are in all: " : " were free: ");
        if (diagnosis.oom && is_windows(load))
            diagnosis.notes.push_back(sizes + "on Windows the driver put part of it into shared memory before it "
                                              "refused the rest");
        else if (diagnosis.oom)
            continue;
        else if (filling.device.starts_with("M"))
            diagnosis.notes.push_back(sizes + "macOS compresses and swaps instead of failing, which is slow");
        else if (is_windows(load))
            diagnosis.notes.push_back(sizes + "on Windows the driver spills into shared memory instead of failing, "
                                              "which is slow");
    }
}

} // namespace vramfit
