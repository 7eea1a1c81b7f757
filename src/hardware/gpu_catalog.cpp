#include "vramfit/hardware/gpu_catalog.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace vramfit {
namespace {

using nlohmann::json;

/// A key's number of MiB, or of GiB, in bytes.
std::optional<std::uint64_t> size_at(const json& entry, const char* key, std::uint64_t unit) {
    const auto found = entry.find(key);
    return found == entry.end() ? std::nullopt : std::optional(found->get<std::uint64_t>() * unit);
}

GpuInfo read_entry(const embedded::Entry& source) {
    const json entry = json::parse(source.json);
    GpuInfo gpu;
    gpu.id = entry.at("id");
    gpu.name = entry.at("name");
    gpu.vendor = entry.at("vendor");
    gpu.kind = entry.at("kind");
    gpu.aliases = entry.at("aliases").get<std::vector<std::string>>();
    gpu.nominal = size_at(entry, "memory_gb", gib);
    gpu.devices = entry.value("devices", 1U);
    gpu.total = size_at(entry, "total_mib", mib);
    gpu.cuda_total_linux = size_at(entry, "cuda_total_linux_mib", mib);
    gpu.cuda_total_windows = size_at(entry, "cuda_total_windows_mib", mib);
    gpu.vulkan_total = size_at(entry, "vulkan_total_mib", mib);
    gpu.metal_working_set = size_at(entry, "metal_working_set_mib", mib);
    gpu.metal_working_set_older = size_at(entry, "metal_working_set_older_mib", mib);
    gpu.unified = entry.value("unified", false);
    gpu.compute_capability = entry.value("compute_capability", "");
    gpu.gfx = entry.value("gfx", "");
    if (entry.contains("bandwidth_gbps")) {
        gpu.bandwidth_gbps = entry["bandwidth_gbps"].get<double>();
    }
    if (entry.contains("release_year")) {
        gpu.release_year = entry["release_year"].get<int>();
    }
    gpu.note = entry.value("note", "");
    gpu.source = entry.value("source", "");
    return gpu;
}

/// Numbers of the entries that bear the name `key`, each once: those spelled exactly as `written` where there are any.
std::vector<std::uint32_t> entries_with(std::string_view key, std::string_view written) {
    std::vector<std::uint32_t> exact;
    std::vector<std::uint32_t> all;
    for (const embedded::Name& name : embedded::with_key(embedded::gpu_names(), key)) {
        all.push_back(name.entry);
        if (name.written == written) {
            exact.push_back(name.entry);
        }
    }
    std::vector<std::uint32_t>& chosen = exact.empty() ? all : exact;
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return std::move(chosen);
}

/// `key` without the vendor's words in front: "nvidiageforcertx4090" -> "rtx4090".
std::string_view without_vendor(std::string_view key) {
    static constexpr std::array<std::string_view, 8> words{"nvidia",  "amd",    "intel", "apple",
                                                           "geforce", "radeon", "tesla", "instinct"};
    for (bool found = true; found;) {
        found = false;
        for (const std::string_view word : words) {
            if (key.size() > word.size() && key.substr(0, word.size()) == word) {
                key.remove_prefix(word.size());
                found = true;
            }
        }
    }
    return key;
}

std::vector<std::uint32_t> entries_for(std::string_view name) {
    const std::string key = normalize_name(name);
    std::vector<std::uint32_t> entries = entries_with(key, name);
    return entries.empty() ? entries_with(without_vendor(key), {}) : entries;
}

/// "rtx 4090 24GB" is {"rtx 4090 ", 24}; nothing where no memory size stands behind a name.
std::optional<std::pair<std::string_view, std::uint64_t>> split_memory(std::string_view name) {
    constexpr std::string_view digits = "0123456789";
    const std::size_t last = name.find_last_of(digits);
    if (last == std::string_view::npos) {
        return std::nullopt;
    }
    const std::size_t before = name.find_last_not_of(digits, last);
    const std::string unit = normalize_name(name.substr(last + 1));
    if (before == std::string_view::npos || last - before > 4 || (unit != "gb" && unit != "gib" && unit != "g") ||
        std::string_view(" -_").find(name[before]) == std::string_view::npos) {
        return std::nullopt;
    }
    std::uint64_t memory = 0;
    for (const char digit : name.substr(before + 1, last - before)) {
        memory = memory * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return std::pair(name.substr(0, before), memory);
}

std::vector<GpuInfo> read_entries(const std::vector<std::uint32_t>& numbers) {
    std::vector<GpuInfo> gpus;
    gpus.reserve(numbers.size());
    for (const std::uint32_t number : numbers) {
        gpus.push_back(read_entry(embedded::gpus()[number]));
    }
    std::stable_sort(gpus.begin(), gpus.end(),
                     [](const GpuInfo& a, const GpuInfo& b) { return a.nominal < b.nominal; });
    return gpus;
}

/// The ids of the devices whose names come near, best first.
std::vector<std::string> near_ids(std::string_view name) {
    constexpr std::size_t most_named = 3;
    std::vector<std::string_view> written;
    written.reserve(embedded::gpu_names().size());
    for (const embedded::Name& candidate : embedded::gpu_names()) {
        written.push_back(candidate.written);
    }
    std::vector<std::string> ids;
    for (const std::string_view near : near_matches(name, written, 4 * most_named)) {
        for (const std::uint32_t entry : entries_for(near)) {
            const std::string id(embedded::gpus()[entry].id);
            if (ids.size() < most_named && std::find(ids.begin(), ids.end(), id) == ids.end()) {
                ids.push_back(id);
            }
        }
    }
    return ids;
}

[[noreturn]] void throw_unknown(std::string_view name) {
    const std::vector<std::string> near = near_ids(name);
    throw Error("unknown GPU " + quote(name) +
                (near.empty() ? "; give a name that 'vramfit gpus' lists, or a size such as 24GB"
                              : "; did you mean " + enumerated(near) + "?"));
}

[[noreturn]] void throw_ambiguous(std::string_view name, const std::vector<GpuInfo>& gpus) {
    std::vector<std::string> choices;
    choices.reserve(gpus.size());
    for (const GpuInfo& gpu : gpus) {
        choices.push_back(gpu.id + (gpu.nominal ? " (" + std::to_string(*gpu.nominal / gib) + " GB)" : ""));
    }
    throw Error("the GPU name " + quote(name) + " fits several: say " + enumerated(choices));
}

} // namespace

std::vector<GpuInfo> match_gpus(std::string_view name) {
    const std::vector<std::uint32_t> entries = entries_for(name);
    if (!entries.empty()) {
        return read_entries(entries);
    }
    const auto parts = split_memory(name);
    if (!parts) {
        return {};
    }
    std::vector<GpuInfo> gpus = read_entries(entries_for(parts->first));
    std::erase_if(gpus, [&](const GpuInfo& gpu) { return gpu.nominal != parts->second * gib; });
    return gpus;
}

GpuInfo find_gpu(std::string_view name) {
    std::vector<GpuInfo> gpus = match_gpus(name);
    if (gpus.empty()) {
        throw_unknown(name);
    }
    if (gpus.size() > 1) {
        throw_ambiguous(name, gpus);
    }
    return std::move(gpus.front());
}

std::vector<GpuInfo> all_gpus() {
    std::vector<GpuInfo> gpus;
    gpus.reserve(embedded::gpus().size());
    for (const embedded::Entry& entry : embedded::gpus()) {
        gpus.push_back(read_entry(entry));
    }
    return gpus;
}

} // namespace vramfit
