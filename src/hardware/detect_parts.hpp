#pragma once

#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// What was found of one vendor.
struct Found {
    std::vector<Device> devices;
    std::vector<std::string> notes;
    std::string trouble; ///< why there are no devices although there may be some; empty: there are none
    std::string absence; ///< where there are none: what was looked at, "nvidia-smi is not installed"
};

Found find_nvidia(const Machine& machine);
Found find_amd(const Machine& machine);
Found find_intel(const Machine& machine);
Found find_apple(const Machine& machine);

// ---- detect_common.cpp: what the vendors have in common ----

/// The lines of `text`, without their ends (\n or \r\n).
std::vector<std::string_view> lines_of(std::string_view text);

/// `text` between the commas, each part trimmed.
std::vector<std::string_view> comma_separated(std::string_view text);

/// A number that fills `text` but for blanks at its ends; "0x" in front where the base is 16 is skipped.
std::optional<std::uint64_t> number_in(std::string_view text, int base = 10);

/// `text`, which a driver or a file made, fit to be shown: no control characters, and not long.
std::string shown(std::string_view text);

/// The number in a file, or nothing.
std::optional<std::uint64_t> read_number(const Machine& machine, const std::string& path, int base = 10);

/// The first line of a file, trimmed; empty where it cannot be read.
std::string read_line(const Machine& machine, const std::string& path);

/// The computer's own memory, from /proc/meminfo: nothing where it does not say so.
struct SystemMemory {
    std::uint64_t total = 0;
    std::uint64_t available = 0;
};
std::optional<SystemMemory> system_memory(const Machine& machine);

/// The device of the catalog that bears `name` and has about `total` bytes: drivers report up to an eighth less than what
/// is sold (ECC), and of several cards of one name the nearest is meant.
std::optional<GpuInfo> known_gpu(std::string_view name, std::uint64_t total);

/// A device that the driver calls `name`; `gpu` is its entry in the catalog, where it has one.
Device detected_device(const std::optional<GpuInfo>& gpu, std::string_view name, Device::Kind kind,
                       std::uint64_t total);

/// Folders of /sys/class/drm that are cards ("card0"), in numerical order, and the vendor of each.
struct DrmCard {
    std::string folder; ///< "/sys/class/drm/card0"
    std::uint64_t vendor = 0;
    std::uint64_t device = 0;
    std::uint64_t revision = 0;
};
std::vector<DrmCard> drm_cards(const Machine& machine);

/// The product in brackets behind the chip in the list of PCI devices that most systems have (pci.ids): "Arc A770" of
/// "DG2 [Arc A770]". Empty where it is not listed.
std::string pci_name(const Machine& machine, std::uint64_t vendor, std::uint64_t device);

// ---- visible_devices.cpp: the variables that hide devices ----

/// The numbers of the devices that `value`, the value of a `variable` such as CUDA_VISIBLE_DEVICES, leaves visible, in its
/// order: a list of indices and beginnings of UUIDs, which ends at the first entry that names no device. Indices reach the
/// first `n_indexed` devices, UUIDs all of them. Throws Error for a device that is listed twice.
std::vector<std::size_t> visible_devices(std::string_view variable, std::string_view value,
                                         const std::vector<std::string>& uuids, std::size_t n_indexed);

// ---- detect_mig.cpp: parts of NVIDIA cards ----

/// One MIG instance: a part of a card that is a device of its own.
struct MigInstance {
    std::uint64_t gpu = 0; ///< index of the card
    std::string profile;   ///< "1g.5gb"
    std::string uuid;      ///< "MIG-..."
    std::uint64_t total = 0;
    std::optional<std::uint64_t> free;
};

/// Reads `nvidia-smi -L` (names and UUIDs) and the table that nvidia-smi prints by itself (memory). Where the table lacks
/// an instance, its size is that of its profile.
std::vector<MigInstance> parse_mig_instances(std::string_view list, std::string_view table);

} // namespace vramfit
