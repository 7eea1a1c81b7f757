#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>
#include <cstddef>

namespace vramfit {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::uint64_t largest_device = 16 * tib; // more is a slip of the pen, such as MiB without the unit

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
    if (end == std::string_view::npos) return text.size() == model_digits;
    if (end != model_digits) return false;
    try {
        parse_size(text);
    } catch (const Error&) {
        return text.find_first_of(" ./") == std::string_view::npos;
    }
    return false;
}

/// In the largest unit that divides it, and as people write it: "24GB", "24564MiB".
std::string name_of_size(std::uint64_t bytes) {
    if (bytes % gib == 0) return std::to_string(bytes / gib) + "GB";
    if (bytes % mib == 0) return std::to_string(bytes / mib) + "MiB";
    return bytes % kib == 0 ? std::to_string(bytes / kib) + "KiB" : std::to_string(bytes) + "B";
}

Device sized_device(std::string_view text) {
    Device device;
    const bool bare = text.find_first_not_of(digits) == std::string_view::npos;
    const bool endless = bare && text.size() > 9; // more than parse_size takes, zeros in front aside
    device.total = endless ? largest_device + 1 : parse_size(text);
    device.name = name_of_size(device.total);
    if (device.total == 0) {
        throw Error("a GPU of " + quote(text) + " has no memory; give its size, such as 24GB");
    }
    if (device.total > largest_device) {
        throw Error(quote(text) + " is too large for a GPU" + (bare ? ": a number without a unit is GB" : "") +
                    "; write it like 24GB, 24564MiB or 1.5GiB");
    }
    return device;
}

/// "rtx3060" of "rtx3060-12gb"; nothing where the id does not end with a size.
std::string_view without_size(std::string_view id) {
    const std::size_t dash = id.rfind('-');
    if (dash == std::string_view::npos || !id.ends_with("gb")) return "";
    const std::string_view size = id.substr(dash + 1, id.size() - dash - 3);
    return !size.empty() && size.find_first_not_of(digits) == std::string_view::npos ? id.substr(0, dash) : "";
}

/// Cards of one name and several sizes: which one a name without a size was taken for.
std::string note_of_size(std::string_view text, const GpuInfo& gpu) {
    const std::string_view stem = without_size(gpu.id);
    if (stem.empty() || normalize_name(text) != normalize_name(stem)) return "";
    std::vector<std::string_view> others;
    for (const embedded::Entry& entry : embedded::gpus()) {
        if (entry.id != gpu.id && without_size(entry.id) == stem) others.push_back(entry.id);
    }
    if (others.empty()) return "";
    return "that is what " + quote(text) + " is taken for; " + enumerated(others, "and") + " would be another";
}

std::vector<Device> parse_single(std::string_view text) {
    if (normalize_name(text) == "auto") {
        throw Error("auto stands for all GPUs of this machine, and by itself: --gpu auto");
    }
    const bool like_size = !text.empty() && (digits.find(text.front()) != std::string_view::npos ||
                                             text.front() == '-' || text.front() == '.' || text.front() == '+');
    if (like_size && !is_like_model_number(text) && match_gpus(text).empty()) {
        return {sized_device(text)};
    }
    const GpuInfo gpu = find_gpu(text);
    std::vector<Device> devices = devices_of(gpu);
    if (const std::string note = note_of_size(text, gpu); !note.empty()) {
        for (Device& device : devices) device.note = note;
    }
    return devices;
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
    const std::string_view what = trimmed(rest.substr(1));
    // "24XB" is a size with a unit that there is not.
    if (const std::string unit = lower(what); unit == "b" || unit == "ib") return std::nullopt;
    return Multiple{spec.substr(0, end), what};
}

std::size_t count_of(const Multiple& multiple, std::string_view spec) {
    std::size_t count = 0;
    for (const char digit : multiple.count) {
        count = std::min<std::size_t>(count * 10 + static_cast<std::size_t>(digit - '0'), max_devices + 1);
    }
    if (count < 1 || count > max_devices) {
        const std::string asked = count == 0 ? "0 GPUs" : "more than " + std::to_string(max_devices) + " GPUs";
        throw Error(quote(spec) + " asks for " + asked + "; give 1 to " + std::to_string(max_devices) +
                    ", like 2x24GB");
    }
    if (multiple.spec.empty()) {
        throw Error(quote(spec) + " does not say which GPUs; write it like 2x24GB or 2xrtx3090");
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
    if (gpu.unified) device.ram = gpu.nominal;
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
    if (text.find(',') != std::string_view::npos) {
        throw Error(quote(spec) + " is a list; give --gpu once for each device");
    }
    // Names first: 7900xtx is a card, not 7900 of "tx".
    const std::optional<Multiple> multiple = split_multiple(text);
    // Four digits and an x are a card that is not known, unless a size follows.
    const bool unknown_card = multiple && multiple->count.size() == 4 && multiple->spec.find_first_of(digits) != 0;
    if (!multiple || unknown_card || !match_gpus(text).empty()) {
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
