#include "detect_parts.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// What stands between `open` and the `close` behind it; empty where they do not.
std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
    const std::size_t start = text.find(open);
    if (start == std::string_view::npos) return {};
    const std::string_view rest = text.substr(start + open.size());
    const std::size_t end = rest.find(close);
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

/// The size of "1g.5gb", "1c.3g.20gb", "1g.10gb+me"; 0 where it says none.
std::uint64_t size_of_profile(std::string_view profile) {
    const std::string small = lower(profile);
    const std::size_t end = small.find("gb");
    if (end == std::string::npos) return 0;
    const std::size_t dot = small.rfind('.', end);
    if (dot == std::string::npos) return 0;
    const auto size = number_in(std::string_view(small).substr(dot + 1, end - dot - 1));
    return size && *size < 1024 ? *size * gib : 0;
}

/// "  MIG 1g.5gb     Device  0: (UUID: MIG-...)" below "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-...)". Instances are in
/// the order of their numbers.
std::vector<MigInstance> parse_list(std::string_view list) {
    std::vector<MigInstance> instances;
    std::optional<std::uint64_t> gpu;
    for (const std::string_view line : lines_of(list)) {
        const std::string_view text = trimmed(line);
        if (text.starts_with("GPU ")) gpu = number_in(between(text, "GPU ", ":"));
        if (!gpu || !text.starts_with("MIG ")) continue;
        MigInstance instance;
        instance.gpu = *gpu;
        instance.profile = shown(between(text, "MIG ", " Device"));
        instance.uuid = std::string(trimmed(between(text, "(UUID:", ")")));
        instance.total = size_of_profile(instance.profile);
        instances.push_back(std::move(instance));
    }
    return instances;
}

struct TableRow {
    std::uint64_t gpu = 0;
    std::uint64_t total = 0;
    std::uint64_t used = 0;
};

/// "|  0    7   0   0  |      5MiB /  4864MiB  | 14  0 | ...": card, GPU instance, compute instance, number; used / total.
std::optional<TableRow> parse_row(std::string_view line) {
    const std::size_t first = line.find_first_not_of("| ");
    if (!line.starts_with('|') || first == std::string_view::npos) return std::nullopt;
    const std::size_t bar = std::min(line.find('|', first), line.size());
    std::vector<std::uint64_t> ids;
    std::string_view left = line.substr(first, bar - first);
    while (!(left = trimmed(left)).empty()) {
        const std::string_view word = left.substr(0, left.find(' '));
        const auto id = number_in(word);
        if (!id) return std::nullopt;
        ids.push_back(*id);
        left.remove_prefix(word.size());
    }
    const std::string_view memory = line.substr(std::min(bar + 1, line.size()));
    const auto used = number_in(memory.substr(0, memory.find("MiB")));
    const auto total = number_in(between(memory, "/", "MiB"));
    constexpr std::uint64_t most = 16 * tib / mib;
    if (ids.size() != 4 || !used || !total || *total > most || *used > *total) return std::nullopt;
    return TableRow{ids[0], *total * mib, *used * mib};
}

} // namespace

std::vector<MigInstance> parse_mig_instances(std::string_view list, std::string_view table) {
    std::vector<MigInstance> instances = parse_list(list);
    auto instance = instances.begin();
    for (const std::string_view line : lines_of(table)) {
        const auto row = parse_row(line);
        if (!row) continue;
        // Both are in the order of cards and of the instances on them.
        while (instance != instances.end() && instance->gpu != row->gpu) ++instance;
        if (instance == instances.end()) break;
        instance->total = row->total;
        instance->free = row->total - row->used;
        ++instance;
    }
    std::erase_if(instances, [](const MigInstance& i) { return i.total == 0; });
    return instances;
}

} // namespace vramfit
