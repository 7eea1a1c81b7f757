#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace vramfit {
namespace {

/// Bytes by which `gpu` has more or less than `total`: as reported, as CUDA offers them, or as sold.
std::uint64_t distance(const GpuInfo& gpu, std::uint64_t total) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (const auto& size : {gpu.nominal, gpu.total, gpu.cuda_total_linux}) {
        if (size) least = std::min(least, std::max(*size / gpu.devices, total) - std::min(*size / gpu.devices, total));
    }
    return least;
}

/// What follows `start` up to the end of its line, from the line that begins with it; nothing where none does.
std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view start) {
    for (std::size_t at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
        if (at > 0 && text[at - 1] != '\n') continue;
        const std::string_view rest = text.substr(at + start.size());
        return rest.substr(0, rest.find_first_of("\r\n"));
    }
    return std::nullopt;
}

/// Four hexadecimal digits in small letters, as the list of PCI devices has them.
std::string hex_id(std::uint64_t id) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const unsigned shift : {12U, 8U, 4U, 0U}) text += digits[(id >> shift) & 15U];
    return text;
}

/// "MemTotal:       125718412 kB".
std::optional<std::uint64_t> memory_line(std::string_view text, std::string_view key) {
    const auto rest = rest_of_line(text, key);
    if (!rest) return std::nullopt;
    const std::string_view value = trimmed(*rest);
    const auto size = number_in(value.substr(0, value.find(' ')));
    if (!size || *size > largest_size / kib) return std::nullopt;
    return *size * kib;
}

} // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::vector<std::string_view> comma_separated(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(',');
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    text = trimmed(text);
    if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::string shown(std::string_view text) {
    const std::string quoted = quote(trimmed(text));
    return quoted.substr(1, quoted.size() - 2);
}

std::optional<std::uint64_t> read_number(const Machine& machine, const std::string& path, int base) {
    const auto text = machine.read(path);
    return text ? number_in(*text, base) : std::nullopt;
}

std::string read_line(const Machine& machine, const std::string& path) {
    const auto text = machine.read(path);
    if (!text) return "";
    return std::string(trimmed(std::string_view(*text).substr(0, text->find_first_of("\r\n"))));
}

std::optional<SystemMemory> system_memory(const Machine& machine) {
    const auto text = machine.read("/proc/meminfo");
    if (!text) return std::nullopt;
    const auto total = memory_line(*text, "MemTotal:");
    const auto available = memory_line(*text, "MemAvailable:");
    if (!total || !available || *total == 0) return std::nullopt;
    return SystemMemory{*total, std::min(*total, *available)};
}

std::optional<GpuInfo> known_gpu(std::string_view name, std::uint64_t total) {
    std::optional<GpuInfo> nearest;
    for (GpuInfo& gpu : match_gpus(name)) {
        if (!nearest || distance(gpu, total) < distance(*nearest, total)) nearest = std::move(gpu);
    }
    if (nearest && distance(*nearest, total) > total / 8) return std::nullopt;
    return nearest;
}

Device detected_device(const std::optional<GpuInfo>& gpu, std::string_view name, Device::Kind kind,
                       std::uint64_t total) {
    Device device;
    device.name = gpu ? gpu->id : shown(name);
    device.description = shown(name);
    device.kind = kind;
    device.unified = gpu && gpu->unified;
    device.total = total;
    if (gpu && !gpu->unified) device.note = gpu->note; // those of unified memory say what could not be known
    return device;
}

std::vector<DrmCard> drm_cards(const Machine& machine) {
    std::vector<std::uint64_t> numbers; // connectors ("card0-DP-1") and render nodes are there, too
    for (const std::string& name : machine.list("/sys/class/drm")) {
        if (!name.starts_with("card")) continue;
        if (const auto number = number_in(std::string_view(name).substr(4))) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<DrmCard> cards;
    for (const std::uint64_t number : numbers) {
        DrmCard card;
        card.folder = "/sys/class/drm/card" + std::to_string(number);
        const auto id = [&](const char* file) {
            return read_number(machine, card.folder + "/device/" + file, 16).value_or(0);
        };
        card.vendor = id("vendor");
        card.device = id("device");
        card.revision = id("revision");
        cards.push_back(std::move(card));
    }
    return cards;
}

std::string pci_name(const Machine& machine, std::uint64_t vendor, std::uint64_t device) {
    for (const char* const path : {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"}) {
        const auto ids = machine.read(path);
        if (!ids) continue;
        // "8086  Intel Corporation", then its devices, a tab in front: "\t56a0  DG2 [Arc A770]".
        const std::size_t start = ids->find("\n" + hex_id(vendor) + "  ");
        if (start == std::string::npos) continue;
        std::string_view devices = std::string_view(*ids).substr(ids->find('\n', start + 1) + 1);
        std::size_t end = 0;
        while (end < devices.size() && (devices[end] == '\t' || devices[end] == '#'))
            end = std::min(devices.find('\n', end), devices.size() - 1) + 1;
        const auto name = rest_of_line(devices.substr(0, end), "\t" + hex_id(device) + "  ");
        if (!name) continue;
        const std::size_t open = name->find('[');
        if (open == std::string_view::npos || !name->ends_with(']')) return std::string(*name);
        return std::string(name->substr(open + 1, name->size() - open - 2));
    }
    return "";
}

} // namespace vramfit
