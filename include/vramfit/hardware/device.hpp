#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

struct GpuInfo;

inline constexpr std::size_t max_devices = 64; ///< that a deployment may have

/// One device that a deployment can use: a GPU, or Apple's unified memory seen as one.
struct Device {
    /// How the device is reached, as far as memory is concerned. `generic`: a bare size, taken for an NVIDIA card.
    enum class Kind : std::uint8_t { cuda, rocm, metal, vulkan, generic };

    std::string name;        ///< "24GB" or "24564MiB" whatever the spelling, or the catalog's id: "rtx4090"
    std::string description; ///< the driver's name of a catalog device, else empty
    std::string note;        ///< what an answer should mention about this device, else empty
    Kind kind = Kind::generic;
    bool unified = false;              ///< shares the computer's memory
    std::uint64_t total = 0;           ///< as the driver reports it, else nominal; Apple: the usable working set
    std::optional<std::uint64_t> free; ///< free now, where somebody said so (`--free`) or it was measured
    std::optional<std::uint64_t> ram;  ///< of the computer, where the device shares it and the catalog knows it
    std::optional<std::uint64_t> driver_share; ///< what the driver keeps of `total`, where that is known of the device
};

/// The devices that a catalog entry stands for: one, or one for each part of a card that runtimes see as several.
/// Throws Error where the entry has no memory of its own (an integrated GPU: the computer decides).
std::vector<Device> devices_of(const GpuInfo& gpu);

/// The devices that `--gpu SPEC` names: a size ("24GB", "24564MiB", "24"), a name of the catalog ("rtx4090"), or
/// several of one kind ("2x24GB", "4 x rtx3090"; 1 to 64). Throws Error for anything else. `auto` is none of them: see detect.hpp.
std::vector<Device> parse_gpu_spec(std::string_view spec);

} // namespace vramfit
