#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// One device of the GPU catalog (data/gpus.json). Memory is in bytes; what is not known is absent.
///
/// The interfaces disagree about "the memory of the card": the box says 24 GB, the driver reports 24564 MiB, CUDA on
/// Linux offers 24210 MiB of them. The catalog keeps each figure under its own name.
struct GpuInfo {
    std::string id;     ///< "rtx4090"
    std::string name;   ///< as the driver prints it: "NVIDIA GeForce RTX 4090"
    std::string vendor; ///< nvidia, amd, apple, intel, qualcomm
    std::string kind;   ///< desktop, laptop, workstation, datacenter, unified, integrated
    std::vector<std::string> aliases;

    std::optional<std::uint64_t> nominal;            ///< as sold; for unified memory, the computer's
    unsigned devices = 1;                            ///< devices that a runtime sees; the sizes are their sum
    std::optional<std::uint64_t> total;              ///< as the driver reports it (nvidia-smi, ROCm, Vulkan)
    std::optional<std::uint64_t> cuda_total_linux;   ///< what CUDA offers, as llama.cpp prints it at start
    std::optional<std::uint64_t> cuda_total_windows; ///< likewise; the driver's share then shows as used
    std::optional<std::uint64_t> vulkan_total;
    std::optional<std::uint64_t> metal_working_set;       ///< recommendedMaxWorkingSetSize of newer macOS releases
    std::optional<std::uint64_t> metal_working_set_older; ///< of older releases, where that is less
    bool unified = false;                                 ///< shares the computer's memory

    std::string compute_capability; ///< NVIDIA: "8.9"
    std::string gfx;                ///< AMD: "gfx1100"
    std::optional<double> bandwidth_gbps;
    std::optional<int> release_year;
    std::string note;   ///< what an answer about the device should mention
    std::string source; ///< of the figures
};

/// Every device that `name` fits, smallest memory first; none where it is unknown. Of id, driver's name and alias an
/// exact match wins; then letter case and - _ . : and spaces are forgiven, then a vendor's name in front
/// ("NVIDIA RTX 4090"), then the memory behind ("rtx 4090 24GB", which it must have).
std::vector<GpuInfo> match_gpus(std::string_view name);

/// The one device that `name` fits. Throws Error where it is unknown (naming near matches) or fits several (naming
/// them: drivers print "NVIDIA GeForce RTX 3080" for the card with 10 GB and for the one with 12).
GpuInfo find_gpu(std::string_view name);

/// Every device of the catalog, sorted by id.
std::vector<GpuInfo> all_gpus();

} // namespace vramfit
