#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::uint64_t most_mib = 16 * tib / mib;

/// A line of nvidia-smi.
struct Card {
    std::uint64_t index = 0;
    std::string uuid, name;
    std::optional<std::uint64_t> total, free;
    bool mig = false;
};

/// The program, wherever it is, with the way in which it was found.
struct Smi {
    std::string path;
    ProgramOutput output;
};

std::vector<std::string> query(const std::string& path, bool with_mig) {
    return {path,
            std::string("--query-gpu=index,uuid,name,memory.total,memory.free") + (with_mig ? ",mig.mode.current" : ""),
            "--format=csv,noheader,nounits"};
}

Smi ask_smi(const Machine& machine) {
    Smi smi;
    for (const char* const path : {"nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"}) {
        smi.path = path;
        smi.output = machine.run(query(smi.path, true));
        if (smi.output.found) break;
    }
    // Drivers before the A100 know of no MIG, and refuse the whole question.
    if (smi.output.found && smi.output.exit_code != 0 &&
        (smi.output.out + smi.output.err).find("not a valid field") != std::string::npos)
        smi.output = machine.run(query(smi.path, false));
    return smi;
}

std::string first_words(const ProgramOutput& output) {
    for (const std::string* const text : {&output.out, &output.err}) {
        for (const std::string_view line : lines_of(*text)) {
            if (!trimmed(line).empty()) return std::string(trimmed(line));
        }
    }
    return "";
}

/// What nvidia-smi writes where there is no figure: "[N/A]", "[Not Supported]", "[Insufficient Permissions]".
bool is_absent(std::string_view text) {
    constexpr std::array<std::string_view, 4> words{"n/a", "not supported", "not available",
                                                    "insufficient permissions"};
    std::string small = lower(text);
    if (small.starts_with('[') && small.ends_with(']')) small = small.substr(1, small.size() - 2);
    return std::ranges::find(words, small) != words.end();
}

/// A size in MiB; nothing where there is none. Throws Error for anything else.
std::optional<std::uint64_t> read_mib(std::string_view text, std::string_view index) {
    if (is_absent(text)) return std::nullopt;
    const auto size = number_in(text);
    if (!size || *size > most_mib)
        throw Error("nvidia-smi gives no memory for GPU " + shown(index) + " but " + quote(text));
    return *size * mib;
}

/// "0, GPU-8932f937-..., NVIDIA GeForce RTX 4090, 24564, 22600, Disabled".
Card parse_card(std::string_view line) {
    const std::vector<std::string_view> cells = comma_separated(line);
    const bool with_mig = !cells.empty() && !number_in(cells.back()) && cells.size() > 5;
    const std::size_t behind = with_mig ? 3 : 2; // the cells behind the name, which may hold commas itself
    const auto index = cells.size() >= 3 + behind ? number_in(cells[0]) : std::nullopt;
    if (!index) throw Error("nvidia-smi printed a line that is no GPU: " + quote(trimmed(line)));
    Card card;
    card.index = *index;
    card.uuid = std::string(cells[1]);
    for (std::size_t i = 2; i < cells.size() - behind; ++i) card.name.append(i > 2 ? ", " : "").append(cells[i]);
    card.name = card.name.empty() ? "NVIDIA GPU" : shown(card.name);
    card.mig = with_mig && lower(cells.back()) == "enabled";
    card.total = read_mib(cells[cells.size() - behind], cells[0]);
    card.free = read_mib(cells[cells.size() - behind + 1], cells[0]);
    if (card.total && card.free) card.free = std::min(*card.free, *card.total);
    return card;
}

std::vector<Card> parse_cards(std::string_view output) {
    std::vector<Card> cards;
    for (const std::string_view line : lines_of(output)) {
        if (trimmed(line).empty() || trimmed(line).starts_with("WARNING:")) continue; // a damaged infoROM, say
        cards.push_back(parse_card(line));
        if (cards.size() > max_devices)
            throw Error("nvidia-smi lists more than " + std::to_string(max_devices) + " GPUs");
    }
    return cards;
}

double bandwidth_of(const Card& card) {
    const auto gpu = known_gpu(card.name, card.total.value_or(0));
    return gpu ? gpu->bandwidth_gbps.value_or(0) : 0;
}

/// In CUDA's order: unless CUDA_DEVICE_ORDER=PCI_BUS_ID, which is nvidia-smi's order, the fastest comes first. How CUDA
/// tells is not documented; the bandwidth of the memory stands for it here.
void sort_as_cuda(std::vector<Card>& cards, const Machine& machine, Found& found) {
    const bool alike = std::ranges::all_of(cards, [&](const Card& c) { return c.name == cards.front().name; });
    if (alike || machine.environment("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") return;
    std::stable_sort(cards.begin(), cards.end(),
                     [](const Card& a, const Card& b) { return bandwidth_of(a) > bandwidth_of(b); });
    found.notes.emplace_back("CUDA numbers GPUs of different kinds fastest first, and this order is a guess; with "
                             "CUDA_DEVICE_ORDER=PCI_BUS_ID it is that of nvidia-smi");
}

/// Throws Error for one whose memory cannot be told.
Device device_of(const Card& card, const Machine& machine) {
    if (card.total) {
        Device device = detected_device(known_gpu(card.name, *card.total), card.name, Device::Kind::cuda, *card.total);
        device.free = card.free;
        return device;
    }
    // The GPU has no memory of its own: ggml-cuda.cu takes MemAvailable for what is free.
    const auto memory = system_memory(machine);
    if (!memory) throw Error("nvidia-smi does not tell the memory of " + card.name + ", and /proc/meminfo neither");
    Device device = detected_device(known_gpu(card.name, memory->total), card.name, Device::Kind::cuda, memory->total);
    device.free = memory->available;
    device.unified = true;
    return device;
}

Device device_of(const MigInstance& instance, const std::vector<Card>& cards) {
    const auto card = std::ranges::find(cards, instance.gpu, &Card::index);
    const std::string name =
        (card == cards.end() ? "" : card->name + " ") + "MIG " + instance.profile; // as CUDA says it
    Device device = detected_device(std::nullopt, name, Device::Kind::cuda, instance.total);
    device.free = instance.free;
    return device;
}

/// The cards and instances that a process sees.
class Visible {
public:
    Visible(const Machine& machine, std::vector<Card> cards, std::vector<MigInstance> instances)
        : machine_(machine),
          cards_(std::move(cards)),
          instances_(std::move(instances)) {}

    void fill(Found& found) const {
        const std::vector<std::size_t> visible = chosen(found);
        // One instance is all that a process gets, and no whole card beside it (MIG user guide).
        for (const std::size_t i : visible) {
            if (const MigInstance* const instance = instance_of(i)) {
                found.devices = {device_of(*instance, cards_)};
                if (visible.size() > 1 || (i < cards_.size() && instances_.size() > 1))
                    found.notes.emplace_back("CUDA gives a process one MIG instance and nothing else; "
                                             "CUDA_VISIBLE_DEVICES=MIG-... chooses another");
                return;
            }
        }
        for (const std::size_t i : visible) {
            if (cards_[i].mig)
                found.notes.push_back(cards_[i].name + " is left out: it is in MIG mode and has no instance");
            else
                found.devices.push_back(device_of(cards_[i], machine_));
        }
        if (found.devices.empty() && !visible.empty())
            found.trouble = "the " + cards_[visible.front()].name + " is in MIG mode and has no instance; make one " +
                            "with 'nvidia-smi mig -cgi'";
    }

private:
    std::vector<std::size_t> chosen(Found& found) const {
        std::vector<std::size_t> all(cards_.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        const auto value = machine_.environment("CUDA_VISIBLE_DEVICES");
        if (!value) return all;
        std::vector<std::string> uuids;
        for (const Card& card : cards_) uuids.push_back(card.uuid);
        for (const MigInstance& instance : instances_) uuids.push_back(instance.uuid);
        std::vector<std::size_t> visible = visible_devices("CUDA_VISIBLE_DEVICES", *value, uuids, cards_.size());
        if (visible.empty())
            found.trouble = "CUDA_VISIBLE_DEVICES=" + quote(*value) + " hides every NVIDIA GPU of this machine";
        else if (visible.size() < cards_.size())
            found.notes.push_back("CUDA_VISIBLE_DEVICES leaves " + std::to_string(visible.size()) + " of " +
                                  std::to_string(cards_.size()) + " NVIDIA GPUs visible");
        return visible;
    }

    /// The instance that a process gets which sees number `i`: that instance, or the first one on that card.
    const MigInstance* instance_of(std::size_t i) const {
        if (i >= cards_.size()) return &instances_[i - cards_.size()];
        if (!cards_[i].mig) return nullptr;
        const auto first = std::ranges::find(instances_, cards_[i].index, &MigInstance::gpu);
        return first == instances_.end() ? nullptr : &*first;
    }

    const Machine& machine_;
    std::vector<Card> cards_; ///< in CUDA's order
    std::vector<MigInstance> instances_;
};

/// Without nvidia-smi: a Jetson whose system has none, or a card whose driver is not installed.
Found find_without_smi(const Machine& machine) {
    Found found;
    found.absence = "nvidia-smi is not installed";
    const std::string board = read_line(machine, "/proc/device-tree/model"); // ends with a zero byte
    if (board.find("Jetson") != std::string::npos) {
        const auto memory = system_memory(machine);
        if (!memory) return found;
        const std::string name = shown(board.substr(0, board.find('\0')));
        Device device = detected_device(known_gpu("Orin", memory->total), name, Device::Kind::cuda, memory->total);
        if (board.find("Orin") == std::string::npos) device.name = name;
        device.free = memory->available;
        device.unified = true;
        found.devices.push_back(std::move(device));
        return found;
    }
    constexpr std::uint64_t nvidia = 0x10DE;
    if (std::ranges::any_of(drm_cards(machine), [](const DrmCard& card) { return card.vendor == nvidia; }))
        found.trouble = "there is an NVIDIA GPU, but no nvidia-smi to ask: its driver is not installed";
    return found;
}

} // namespace

Found find_nvidia(const Machine& machine) {
    const Smi smi = ask_smi(machine);
    if (!smi.output.found) return find_without_smi(machine);
    Found found;
    if (smi.output.timed_out) {
        found.trouble = "nvidia-smi does not answer";
        return found;
    }
    const std::string words = first_words(smi.output);
    if (lower(words).find("no devices were found") != std::string::npos ||
        (words.empty() && smi.output.exit_code == 0)) {
        found.absence = "nvidia-smi finds none";
        return found;
    }
    if (smi.output.exit_code != 0) {
        found.trouble = "nvidia-smi " + (words.empty() ? "fails with exit code " + std::to_string(smi.output.exit_code)
                                                       : "says " + quote(words));
        return found;
    }
    try {
        std::vector<Card> cards = parse_cards(smi.output.out);
        sort_as_cuda(cards, machine, found);
        std::vector<MigInstance> instances;
        if (std::ranges::any_of(cards, [](const Card& card) { return card.mig; }))
            instances = parse_mig_instances(machine.run({smi.path, "-L"}).out, machine.run({smi.path}).out);
        Visible(machine, std::move(cards), std::move(instances)).fill(found);
    } catch (const Error& error) {
        found.devices.clear();
        found.trouble = error.what();
    }
    return found;
}

} // namespace vramfit
