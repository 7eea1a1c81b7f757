#pragma once

#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/machine.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The GPUs of a computer that llama.cpp would use, as the drivers describe them now.
///
/// A device of the catalog bears its id ("rtx4090") and has the driver's name as its description, another one bears the
/// driver's name. `total` is what the driver reports and `free` what is free at this moment, where that can be read:
///  - NVIDIA: nvidia-smi. CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER count, MIG instances too. Boards whose GPU shares
///    the computer's memory (GB10, Jetson) have what /proc/meminfo says, as in llama.cpp (ggml-cuda.cu);
///  - AMD: what the amdgpu driver says in /sys/class/drm, else rocm-smi. ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and
///    CUDA_VISIBLE_DEVICES count;
///  - Intel: /sys/class/drm. Its drivers do not say what is free;
///  - Apple: sysctl. Metal counts the memory of its own process alone, so what is free is not looked at.
struct Detection {
    std::vector<Device> devices;    ///< at least one, in the order in which the runtime numbers them
    std::vector<std::string> notes; ///< what was found, what was left out and why
};

/// The devices of `machine`. GPUs with memory of their own come before those that share the computer's, and of those
/// with their own NVIDIA's before AMD's before Intel's: a build of llama.cpp serves one kind. Throws Error where there is
/// none, or where the driver of the only ones does not answer.
Detection detect_devices(const Machine& machine);

/// Whether `spec` is `auto`: the devices of this computer.
bool means_this_machine(std::string_view spec);

/// The devices of this computer, looked up once a process: all questions of a run are asked about the same free memory.
/// The folder below which /sys and /proc are looked up can be given in VRAMFIT_ROOT. Without `use_environment` the
/// variables that hide devices do not count.
const Detection& detected_devices(bool use_environment);

} // namespace vramfit
