#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::uint64_t intel = 0x8086;

/// Cards whose number is known by itself, for systems without the list of PCI devices.
struct Known {
    std::uint64_t device;
    std::string_view name;
};
constexpr std::array<Known, 10> cards{{{0x5690, "Arc A770M"},
                                       {0x56A0, "Arc A770"},
                                       {0x56A1, "Arc A750"},
                                       {0x56A2, "Arc A580"},
                                       {0x56A5, "Arc A380"},
                                       {0x56A6, "Arc A310"},
                                       {0xE20B, "Arc B580"},
                                       {0xE20C, "Arc B570"},
                                       {0xE211, "Arc Pro B60"},
                                       {0xE212, "Arc Pro B50"}}};

/// Without the vendor in front: cards that differ in their memory alone share such a name in the catalog.
std::string name_of(const Machine& machine, const DrmCard& card) {
    std::string name = pci_name(machine, card.vendor, card.device);
    const auto known = std::ranges::find(cards, card.device, &Known::device);
    if (name.empty() && known != cards.end()) name = known->name;
    if (name.starts_with("Intel ")) name.erase(0, 6);
    return name.empty() ? "GPU" : name;
}

/// GPUs inside of the processor sit on the first bus: "PCI_SLOT_NAME=0000:00:02.0".
bool is_integrated(const Machine& machine, const DrmCard& card) {
    const auto event = machine.read(card.folder + "/device/uevent");
    if (!event) return true;
    for (const std::string_view line : lines_of(*event)) {
        if (line.starts_with("PCI_SLOT_NAME=")) return line.find("=0000:00:") != std::string_view::npos;
    }
    return true;
}

/// What the driver says of its own memory: xe for each tile, Intel's own i915 for the card, i915 of the kernel nothing.
std::uint64_t reported_memory(const Machine& machine, const DrmCard& card) {
    std::uint64_t total = 0;
    for (const std::string& name : machine.list(card.folder + "/device")) {
        if (!name.starts_with("tile")) continue;
        const std::string tile = card.folder + "/device/" + name;
        for (const char* const file : {"/physical_vram_size_bytes", "/memory/physical_vram_size_bytes"})
            total += std::min(read_number(machine, tile + file).value_or(0), 16 * tib);
    }
    for (const char* const file : {"/lmem_total_bytes", "/prelim_lmem_total_bytes", "/device/lmem_total_bytes"})
        if (total == 0) total = read_number(machine, card.folder + file).value_or(0);
    return total > 16 * tib ? 0 : total;
}

/// The largest window into the card's memory: its size, rounded up to a power of two, unless the board's firmware makes
/// it small (256 MiB). Lines of `resource` are first and last address and kind, 0x2000 of which is "can be prefetched".
std::uint64_t window_of(const Machine& machine, const DrmCard& card) {
    const auto resource = machine.read(card.folder + "/device/resource");
    if (!resource) return 0;
    std::uint64_t largest = 0;
    for (const std::string_view line : lines_of(*resource)) {
        const std::size_t first = line.find(' ');
        const std::size_t second = line.find(' ', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) continue;
        const auto start = number_in(line.substr(0, first), 16);
        const auto end = number_in(line.substr(first + 1, second - first - 1), 16);
        const auto kind = number_in(line.substr(second + 1), 16);
        if (!start || !end || !kind || *end <= *start || (*kind & 0x2000U) == 0) continue;
        largest = std::max(largest, *end - *start + 1);
    }
    return largest;
}

/// The card of the catalog with that name; of several the largest that the window allows.
std::optional<GpuInfo> card_with(std::string_view name, std::uint64_t window) {
    std::optional<GpuInfo> best;
    for (GpuInfo& gpu : match_gpus(name)) { // smallest first
        if (gpu.nominal && (!best || *gpu.nominal <= window)) best = std::move(gpu);
    }
    return best;
}

std::optional<Device> discrete_device(const Machine& machine, const DrmCard& card, Found& found) {
    const std::string name = name_of(machine, card);
    const std::uint64_t window = window_of(machine, card);
    std::uint64_t total = reported_memory(machine, card);
    const auto gpu = total > 0 ? known_gpu(name, total) : card_with(name, window);
    if (total == 0 && gpu) total = gpu->total.value_or(gpu->nominal.value_or(0));
    if (total == 0) {
        found.trouble = "the driver of Intel " + shown(name) + " does not tell its memory";
        return std::nullopt;
    }
    Device device = detected_device(gpu, "Intel " + name, Device::Kind::vulkan, total);
    found.notes.push_back(device.name + ": its driver does not tell how much memory is free, so all of it counts; " +
                          "--free corrects that");
    return device;
}

std::optional<Device> integrated_device(const Machine& machine, const DrmCard& card) {
    const auto memory = system_memory(machine);
    if (!memory) return std::nullopt;
    // Mesa's driver offers half of up to 4 GiB, three quarters of more (anv_device.c, anv_compute_sys_heap_size).
    const std::uint64_t total = memory->total <= 4 * gib ? memory->total / 2 : memory->total / 4 * 3;
    Device device = detected_device(std::nullopt, "Intel " + name_of(machine, card), Device::Kind::vulkan, total);
    device.free = std::min(total, memory->available);
    device.unified = true;
    return device;
}

} // namespace

Found find_intel(const Machine& machine) {
    Found found;
    for (const DrmCard& card : drm_cards(machine)) {
        if (card.vendor != intel) continue;
        auto device =
            is_integrated(machine, card) ? integrated_device(machine, card) : discrete_device(machine, card, found);
        if (device) found.devices.push_back(std::move(*device));
    }
    found.absence = "no Intel GPU";
    return found;
}

} // namespace vramfit
