#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>
#include <cstddef>

namespace vramfit {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::size_t most_devices = 64;

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Device::Kind kind_of(const GpuInfo& gpu) {
    if (gpu.vendor == "nvidia") {
        return Device::Kind::cuda;
    }
    if (gpu.vendor == "apple") {
        return Device::Kind::metal;
    }
    // Without a gfx target that ROCm builds for, an AMD card is reached through Vulkan.
    return gpu.vendor == "amd" && !gpu.gfx.empty() ? Device::Kind::rocm : Device::Kind::vulkan;
}

std::uint64_t total_of(const GpuInfo& gpu) {
    if (gpu.vendor == "apple" && gpu.nominal) {
        return gpu.metal_working_set.value_or(metal_working_set(*gpu.nominal));
    }
    const std::optional<std::uint64_t> total = gpu.total ? gpu.total : gpu.nominal;
    if (!total) {
        throw Error("the GPU " + gpu.id + " uses the computer's memory, which the catalog cannot know; " +
                    "give the size that it may use, such as 8GB");
    }
    return *total;
}

std::string note_of(const GpuInfo& gpu) {
    if (gpu.metal_working_set_older) {
        return "older macOS releases let the GPU use " + format_gib(*gpu.metal_working_set_older) + " of this memory";
    }
    return gpu.note;
}

/// Whether `text` rather is a mistyped card than a size: "4091" and "7900xtz", not "24 bananas". No card has thousands
/// of GB, and the size in MiB says its unit.
bool is_like_model_number(std::string_view text) {
    constexpr std::size_t model_digits = 4;
    const std::size_t end = text.find_first_not_of(digits);
    if (end == std::string_view::npos) return text.size() >= model_digits;
    if (end != model_digits) return false;
    try {
        parse_size(text);
    } catch (const Error&) {
        return text.find_first_of(" ./") == std::string_view::npos;
    }
    return false;
}

Device sized_device(std::string_view text) {
    Device device;
    device.total = parse_size(text);
    device.name = std::string(text) + (text.find_first_not_of(digits) == std::string_view::npos ? "GB" : "");
    if (device.total == 0) {
        throw Error("a GPU of " + quote(text) + " has no memory; give its size, such as 24GB");
    }
    return device;
}

std::vector<Device> parse_single(std::string_view text) {
    const bool like_size = !text.empty() && (digits.find(text.front()) != std::string_view::npos ||
                                             text.front() == '-' || text.front() == '.' || text.front() == '+');
    if (like_size && !is_like_model_number(text) && match_gpus(text).empty()) {
        return {sized_device(text)};
    }
    return devices_of(find_gpu(text));
}

/// "2 x 24GB" cut at its x; nothing where `spec` does not begin with a number and an x.
struct Multiple {
    std::string_view count;
    std::string_view spec;
};

std::optional<Multiple> split_multiple(std::string_view spec) {
    const std::size_t end = spec.find_first_not_of(digits);
    if (end == 0 || end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view rest = trimmed(spec.substr(end));
    if (rest.empty() || (rest.front() != 'x' && rest.front() != 'X')) {
        return std::nullopt;
    }
    return Multiple{spec.substr(0, end), trimmed(rest.substr(1))};
}

std::size_t count_of(const Multiple& multiple, std::string_view spec) {
    std::size_t count = 0;
    for (const char digit : multiple.count) {
        count = std::min<std::size_t>(count * 10 + static_cast<std::size_t>(digit - '0'), most_devices + 1);
    }
    if (count < 1 || count > most_devices) {
        throw Error(quote(spec) + " asks for " + (count == 0 ? "no GPU" : "too many GPUs") + "; give 1 to " +
                    std::to_string(most_devices) + ", like 2x24GB");
    }
    return count;
}

} // namespace

std::vector<Device> devices_of(const GpuInfo& gpu) {
    Device device;
    device.name = gpu.id;
    device.description = gpu.name;
    device.note = note_of(gpu);
    device.kind = kind_of(gpu);
    device.unified = gpu.unified;
    device.total = total_of(gpu) / gpu.devices;
    if (gpu.cuda_total_linux && *gpu.cuda_total_linux <= device.total) {
        device.driver_share = device.total - *gpu.cuda_total_linux;
    }
    return std::vector<Device>(gpu.devices, device);
}

std::vector<Device> parse_gpu_spec(std::string_view spec) {
    const std::string_view text = trimmed(spec);
    if (text.empty()) {
        throw Error("the GPU is empty; give a size such as 24GB, or a name such as rtx4090");
    }
    if (normalize_name(text) == "auto") {
        throw Error("this machine's devices cannot be read yet; give --gpu a size such as 24GB");
    }
    if (text.find(',') != std::string_view::npos) {
        throw Error(quote(spec) + " is a list; give --gpu once for each device");
    }
    // Names first: 7900xtx is a card, not 7900 of "tx".
    const std::optional<Multiple> multiple = split_multiple(text);
    if (!multiple || multiple->count.size() > 3 || !match_gpus(text).empty()) {
        return parse_single(text);
    }
    const std::size_t count = count_of(*multiple, spec);
    const std::vector<Device> single = parse_single(multiple->spec);
    std::vector<Device> devices;
    for (std::size_t i = 0; i < count; ++i) {
        devices.insert(devices.end(), single.begin(), single.end());
    }
    return devices;
}

} // namespace vramfit
