#include "vramfit/hardware/detect.hpp"

#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::string_view by_hand = "give the GPU by its size or name instead, such as --gpu 24GB";

std::string name_to_show(const Device& device) { return device.description.empty() ? device.name : device.description; }

/// "NVIDIA GeForce RTX 4090, 22.1 of 24.0 GiB free".
std::string text_of(const Device& device) {
    std::string total = format_gib(device.total);
    if (!device.free) return name_to_show(device) + ", " + total;
    const std::string free = format_gib(*device.free);
    return name_to_show(device) + ", " + free.substr(0, free.find(' ')) + " of " + total + " free";
}

/// The texts of the devices, neighbours that read the same together: "2 x ...; ...".
template <typename Text>
std::string listed(const std::vector<Device>& devices, Text text) {
    std::string list;
    for (std::size_t i = 0; i < devices.size();) {
        const std::string first = text(devices[i]);
        std::size_t end = i;
        while (end < devices.size() && text(devices[end]) == first) ++end;
        list += (list.empty() ? "" : "; ") + (end - i > 1 ? std::to_string(end - i) + " x " : "") + first;
        i = end;
    }
    return list;
}

std::vector<Found> find_all(const Machine& machine) {
    switch (machine.platform) {
    case Machine::Platform::sysfs: return {find_nvidia(machine), find_amd(machine), find_intel(machine)};
    case Machine::Platform::sysctl: return {find_apple(machine)};
    case Machine::Platform::windows: return {find_nvidia(machine)};
    case Machine::Platform::unknown: break;
    }
    throw Error("the GPUs of this system cannot be read; " + std::string(by_hand));
}

/// Takes the devices that are `unified`, or those that are not, of the first vendor that has such.
const Found* choose(const std::vector<Found>& all, bool unified, std::vector<Device>& devices) {
    for (const Found& found : all) {
        for (const Device& device : found.devices)
            if (device.unified == unified) devices.push_back(device);
        if (!devices.empty()) return &found;
    }
    return nullptr;
}

[[noreturn]] void throw_none(const std::vector<Found>& all) {
    std::vector<std::string> absences;
    for (const Found& found : all)
        if (!found.absence.empty()) absences.push_back(found.absence);
    throw Error("no GPU was found on this machine (" + enumerated(absences, "and") + "); " + std::string(by_hand));
}

} // namespace

Detection detect_devices(const Machine& machine) {
    const std::vector<Found> all = find_all(machine);
    Detection detection;
    const Found* chosen = choose(all, false, detection.devices);
    if (chosen == nullptr) {
        // A driver that does not answer may have the better GPU: no substitute is taken unasked.
        for (const Found& found : all)
            if (!found.trouble.empty()) throw Error(found.trouble + "; " + std::string(by_hand));
        chosen = choose(all, true, detection.devices);
    }
    if (chosen == nullptr) throw_none(all);
    if (detection.devices.size() > max_devices)
        throw Error("this machine has more than " + std::to_string(max_devices) + " GPUs; " + std::string(by_hand));

    detection.notes.push_back("this machine has " + listed(detection.devices, text_of));
    detection.notes.insert(detection.notes.end(), chosen->notes.begin(), chosen->notes.end());
    std::vector<Device> left_out;
    for (const Found& found : all) {
        for (const Device& device : found.devices)
            if (&found != chosen || device.unified != detection.devices.front().unified) left_out.push_back(device);
        if (&found != chosen && !found.trouble.empty()) detection.notes.push_back(found.trouble);
    }
    if (!left_out.empty())
        detection.notes.push_back("left out: " + listed(left_out, name_to_show) +
                                  "; a build of llama.cpp uses GPUs of one kind, those with their own memory first");
    return detection;
}

bool means_this_machine(std::string_view spec) { return normalize_name(spec) == "auto"; }

const Detection& detected_devices(bool use_environment) {
    static const auto detect = [](Environment environment) {
        return detect_devices(this_machine(std::move(environment), process_environment()("VRAMFIT_ROOT").value_or("")));
    };
    if (use_environment) {
        static const Detection as_set = detect(process_environment());
        return as_set;
    }
    static const Detection as_built = detect(empty_environment());
    return as_built;
}

} // namespace vramfit
