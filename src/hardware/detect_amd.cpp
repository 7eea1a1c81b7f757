#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

using nlohmann::json;

constexpr std::uint64_t amd = 0x1002;

/// A node of KFD, the part of the driver that ROCm uses, which counts devices in the order of its nodes.
struct Node {
    std::uint64_t number = 0;
    std::string gfx; ///< "gfx1100"
};

struct Card {
    Device device;
    std::string uuid;                    ///< as ROCR_VISIBLE_DEVICES names it: "GPU-" and sixteen digits
    std::optional<std::uint64_t> number; ///< of its node
};

/// "gfx1100" of 110000, "gfx90a" of 90010: major, then minor and stepping as one hexadecimal digit each.
std::string gfx_name(std::uint64_t version) {
    constexpr std::string_view digits = "0123456789abcdef";
    const std::uint64_t minor = version / 100 % 100;
    const std::uint64_t stepping = version % 100;
    if (version < 10000 || version > 999999 || minor > 15 || stepping > 15) return "";
    return "gfx" + std::to_string(version / 10000) + digits[minor] + digits[stepping];
}

/// The value behind `key` in lines "key value".
std::optional<std::uint64_t> property(std::string_view properties, std::string_view key) {
    for (const std::string_view line : lines_of(properties)) {
        if (line.starts_with(key) && line.substr(key.size()).starts_with(' '))
            return number_in(line.substr(key.size()));
    }
    return std::nullopt;
}

/// The node whose render node ("renderD128") is the card's.
std::optional<Node> node_of(const Machine& machine, const DrmCard& card) {
    std::optional<std::uint64_t> minor;
    for (const std::string& name : machine.list(card.folder + "/device/drm")) {
        constexpr std::string_view render = "renderD";
        if (name.starts_with(render)) minor = number_in(std::string_view(name).substr(render.size()));
    }
    const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
    if (!minor) return std::nullopt;
    for (const std::string& name : machine.list(nodes)) {
        const auto number = number_in(name);
        const auto properties = machine.read(nodes + "/" + name + "/properties");
        if (!number || !properties || property(*properties, "drm_render_minor") != minor) continue;
        const std::string gfx = gfx_name(property(*properties, "gfx_target_version").value_or(0));
        if (!gfx.empty()) return Node{*number, gfx};
    }
    return std::nullopt;
}

/// The name in libdrm's list, whose lines are "744C,\tC8,\tAMD Radeon RX 7900 XTX".
std::string name_in_libdrm(const Machine& machine, const DrmCard& card) {
    for (const char* const path : {"/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids"}) {
        const auto ids = machine.read(path);
        if (!ids) continue;
        for (const std::string_view line : lines_of(*ids)) {
            const std::vector<std::string_view> cells = comma_separated(line);
            if (cells.size() == 3 && number_in(cells[0], 16) == card.device && number_in(cells[1], 16) == card.revision)
                return std::string(cells[2]);
        }
    }
    return "";
}

/// The one card of the catalog with that chip and so much memory.
std::optional<GpuInfo> card_of_chip(std::string_view gfx, std::uint64_t total) {
    std::optional<GpuInfo> only;
    for (GpuInfo& gpu : all_gpus()) {
        const std::uint64_t size = gpu.nominal.value_or(0) / gpu.devices;
        if (gfx.empty() || gpu.gfx != gfx || size < total || size - total > size / 32) continue;
        if (only) return std::nullopt;
        only = std::move(gpu);
    }
    return only;
}

/// Processors with a GPU, which has a part of the computer's memory.
bool is_integrated(std::string_view gfx, std::string_view name, std::uint64_t vram) {
    constexpr std::array<std::string_view, 13> chips{"gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033",
                                                     "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150",
                                                     "gfx1151", "gfx1152", "gfx1153"};
    if (!gfx.empty()) return std::ranges::find(chips, gfx) != chips.end();
    for (const GpuInfo& gpu : match_gpus(name)) return gpu.unified || gpu.kind == "integrated";
    return vram <= gib; // no card has been sold with so little for long
}

/// A name in the catalog of integrated GPUs: of one that was sold with several sizes of memory, that of this computer.
std::optional<GpuInfo> integrated_gpu(std::string_view name, std::uint64_t computer) {
    std::optional<GpuInfo> found = known_gpu(name, computer);
    if (found) return found;
    const std::vector<GpuInfo> gpus = match_gpus(name);
    return gpus.size() == 1 && !gpus.front().nominal ? std::optional(gpus.front()) : std::nullopt;
}

/// Memory of a card, in use and in all.
struct Pool {
    std::uint64_t total = 0;
    std::optional<std::uint64_t> used;

    std::optional<std::uint64_t> free() const {
        return used ? std::optional(total - std::min(total, *used)) : std::nullopt;
    }
};

Pool pool_at(const Machine& machine, const std::string& path) {
    return {read_number(machine, path + "_total").value_or(0), read_number(machine, path + "_used")};
}

Device integrated_device(const Machine& machine, std::string name, std::string_view gfx, const Pool& vram,
                         const Pool& gtt) {
    const auto memory = system_memory(machine);
    const auto gpu = integrated_gpu(name, memory ? memory->total + vram.total : 0);
    if (name.empty()) name = "AMD " + (gfx.empty() ? std::string("integrated GPU") : "GPU " + std::string(gfx));
    // The driver gives a process the larger one: the part set aside at start, or what it may borrow (amdgpu_ttm.c,
    // apu_prefer_gtt).
    const bool borrowed = gtt.total > vram.total;
    const Pool& pool = borrowed ? gtt : vram;
    Device device = detected_device(gpu, name, gfx.empty() ? Device::Kind::vulkan : Device::Kind::rocm, pool.total);
    device.free = pool.free();
    if (borrowed && memory) device.free = std::min(device.free.value_or(pool.total), memory->available);
    device.unified = true;
    return device;
}

Device discrete_device(std::string name, std::string_view gfx, const Pool& vram) {
    std::optional<GpuInfo> gpu = known_gpu(name, vram.total);
    if (!gpu) {
        gpu = card_of_chip(gfx, vram.total);
        if (gpu && (name.empty() || name == "AMD Radeon Graphics")) name = gpu->name;
    }
    if (name.empty()) name = gfx.empty() ? "AMD GPU" : "AMD GPU " + std::string(gfx);
    const bool rocm = !gfx.empty() || (gpu && !gpu->gfx.empty());
    Device device = detected_device(gpu, name, rocm ? Device::Kind::rocm : Device::Kind::vulkan, vram.total);
    device.free = vram.free();
    return device;
}

std::optional<Card> read_card(const Machine& machine, const DrmCard& drm) {
    const std::string device = drm.folder + "/device/";
    const Pool vram = pool_at(machine, device + "mem_info_vram");
    const Pool gtt = pool_at(machine, device + "mem_info_gtt");
    if ((vram.total == 0 && gtt.total == 0) || std::max(vram.total, gtt.total) > 16 * tib) return std::nullopt;
    const auto node = node_of(machine, drm);
    const std::string gfx = node ? node->gfx : "";
    std::string name = read_line(machine, device + "product_name");
    if (name.empty()) name = name_in_libdrm(machine, drm);
    if (name.empty()) name = pci_name(machine, drm.vendor, drm.device);
    Card card;
    card.device = is_integrated(gfx, name, vram.total) ? integrated_device(machine, name, gfx, vram, gtt)
                                                       : discrete_device(name, gfx, vram);
    const std::string id = read_line(machine, device + "unique_id");
    if (!id.empty()) card.uuid = "GPU-" + id;
    if (node) card.number = node->number;
    return card;
}

std::vector<Card> read_cards(const Machine& machine, Found& found) {
    std::vector<Card> cards;
    for (const DrmCard& drm : drm_cards(machine)) {
        if (drm.vendor != amd) continue;
        if (auto card = read_card(machine, drm))
            cards.push_back(std::move(*card));
        else
            found.trouble = drm.folder + " is an AMD GPU whose driver does not tell its memory (amdgpu does)";
    }
    // Cards without a node, which ROCm does not see, come last.
    std::stable_sort(cards.begin(), cards.end(), [](const Card& a, const Card& b) {
        return a.number.value_or(~std::uint64_t{0}) < b.number.value_or(~std::uint64_t{0});
    });
    return cards;
}

/// The text or number under one of the keys; empty where there is none.
std::string text_at(const json& entry, std::initializer_list<const char*> keys) {
    for (const char* const key : keys) {
        const auto value = entry.find(key);
        if (value == entry.end()) continue;
        if (value->is_string()) return value->get<std::string>();
        if (value->is_number_unsigned()) return std::to_string(value->get<std::uint64_t>());
    }
    return "";
}

/// {"card0": {"VRAM Total Memory (B)": "21458059264", "VRAM Total Used Memory (B)": "27856896", "Card Series": ...}}
std::vector<Card> parse_rocm_smi(const std::string& text) {
    const json data = json::parse(text, nullptr, false);
    if (!data.is_object()) throw Error("rocm-smi printed no JSON but " + quote(text));
    std::vector<std::pair<std::uint64_t, Card>> numbered;
    for (const auto& [key, entry] : data.items()) {
        const auto number = key.starts_with("card") ? number_in(std::string_view(key).substr(4)) : std::nullopt;
        if (!number || !entry.is_object()) continue; // "system": versions
        const Pool vram{number_in(text_at(entry, {"VRAM Total Memory (B)"})).value_or(0),
                        number_in(text_at(entry, {"VRAM Total Used Memory (B)"}))};
        if (vram.total == 0 || vram.total > 16 * tib) throw Error("rocm-smi tells no memory of " + shown(key));
        const std::string gfx = text_at(entry, {"GFX Version"});
        Card card;
        card.device = discrete_device(text_at(entry, {"Card Series", "Card series", "Device Name"}), gfx, vram);
        card.device.unified = is_integrated(gfx, card.device.description, vram.total);
        std::string id = text_at(entry, {"Unique ID"});
        if (id.starts_with("0x")) card.uuid = "GPU-" + id.substr(2);
        numbered.emplace_back(*number, std::move(card));
    }
    std::sort(numbered.begin(), numbered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Card> cards;
    cards.reserve(numbered.size());
    for (auto& [number, card] : numbered) cards.push_back(std::move(card));
    return cards;
}

std::vector<Card> ask_rocm_smi(const Machine& machine) {
    const ProgramOutput output =
        machine.run({"rocm-smi", "--showproductname", "--showuniqueid", "--showmeminfo", "vram", "--json"});
    if (!output.found || output.timed_out || output.exit_code != 0) return {};
    const std::size_t start = output.out.find('{'); // warnings come first
    return start == std::string::npos ? std::vector<Card>{} : parse_rocm_smi(output.out.substr(start));
}

/// Leaves what a variable leaves visible. Numbers of the second variable count what the first one left.
void hide(const Machine& machine, const char* variable, std::vector<Card>& cards, Found& found) {
    const auto value = machine.environment(variable);
    if (!value || cards.empty()) return;
    std::vector<std::string> uuids;
    uuids.reserve(cards.size());
    for (const Card& card : cards) uuids.push_back(card.uuid);
    std::vector<Card> left;
    for (const std::size_t i : visible_devices(variable, *value, uuids, cards.size())) left.push_back(cards[i]);
    if (left.empty())
        found.trouble = std::string(variable) + "=" + quote(*value) + " hides every AMD GPU of this machine";
    else if (left.size() < cards.size())
        found.notes.push_back(std::string(variable) + " leaves " + std::to_string(left.size()) + " of " +
                              std::to_string(cards.size()) + " AMD GPUs visible");
    cards = std::move(left);
}

} // namespace

Found find_amd(const Machine& machine) {
    Found found;
    try {
        std::vector<Card> cards = read_cards(machine, found);
        if (cards.empty()) cards = ask_rocm_smi(machine);
        if (!cards.empty()) found.trouble.clear();
        hide(machine, "ROCR_VISIBLE_DEVICES", cards, found);
        hide(machine, machine.environment("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES",
             cards, found);
        for (Card& card : cards) found.devices.push_back(std::move(card.device));
    } catch (const Error& error) {
        found.devices.clear();
        found.trouble = error.what();
    }
    found.absence = "no AMD GPU";
    return found;
}

} // namespace vramfit
