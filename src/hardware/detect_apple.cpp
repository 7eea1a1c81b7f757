#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// The value behind "name: ", as sysctl prints it; empty where it does not know the name.
std::string value_of(std::string_view output, std::string_view name) {
    for (const std::string_view line : lines_of(output)) {
        if (line.starts_with(name) && line.substr(name.size()).starts_with(": "))
            return std::string(trimmed(line.substr(name.size() + 2)));
    }
    return "";
}

std::optional<GpuInfo> mac_with(std::string_view chip, std::uint64_t memory) {
    for (GpuInfo& gpu : match_gpus(chip)) {
        if (gpu.nominal == memory) return std::move(gpu);
    }
    return std::nullopt;
}

} // namespace

Found find_apple(const Machine& machine) {
    Found found;
    // A name that this macOS does not know is an error of sysctl's, which prints the others all the same.
    const ProgramOutput output =
        machine.run({"sysctl", "hw.memsize", "iogpu.wired_limit_mb", "machdep.cpu.brand_string"});
    const std::string chip = value_of(output.out, "machdep.cpu.brand_string");
    const auto memory = number_in(value_of(output.out, "hw.memsize"));
    if (!output.found || output.timed_out || !memory || *memory < gib || *memory > 16 * tib) {
        found.trouble = "sysctl does not tell the memory of this Mac";
        return found;
    }
    if (!chip.starts_with("Apple")) {
        found.absence = "this Mac has no GPU of Apple's but " + quote(chip);
        return found;
    }
    const auto gpu = mac_with(chip, *memory);
    const auto limit = number_in(value_of(output.out, "iogpu.wired_limit_mb")).value_or(0);
    std::uint64_t total = gpu && gpu->metal_working_set ? *gpu->metal_working_set : metal_working_set(*memory);
    if (limit > 0 && limit <= *memory / mib) {
        total = limit * mib; // Metal then recommends just that
        found.notes.push_back("iogpu.wired_limit_mb lets the GPU use " + format_gib(total) + " of " +
                              format_gib(*memory));
    } else if (gpu && gpu->metal_working_set_older) {
        found.notes.push_back("older macOS releases let the GPU use " + format_gib(*gpu->metal_working_set_older) +
                              " of this memory");
    }
    Device device = detected_device(gpu, chip, Device::Kind::metal, total);
    device.unified = true;
    found.devices.push_back(std::move(device));
    return found;
}

} // namespace vramfit
