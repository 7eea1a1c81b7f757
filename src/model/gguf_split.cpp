#include "gguf_split.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".gguf";
constexpr std::string_view pattern = "-00000-of-00000"; // llama.cpp writes "%s-%05d-of-%05d.gguf"

/// The name of a part, taken apart.
struct PartName {
    std::string prefix; ///< with its folder
    std::uint64_t number = 0, count = 0;

    std::string path(std::uint64_t part) const {
        return fmt::format("{}-{:05}-of-{:05}{}", prefix, part, count, ending);
    }
};

bool fits_pattern(std::string_view tail) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (pattern[i] == '0' ? !digit : tail[i] != pattern[i]) return false;
    }
    return true;
}

std::optional<PartName> part_name(const std::string& path) {
    if (!path.ends_with(ending) || path.size() < ending.size() + pattern.size()) return std::nullopt;
    const std::size_t tail = path.size() - ending.size() - pattern.size();
    if (!fits_pattern(std::string_view(path).substr(tail, pattern.size()))) return std::nullopt;
    return PartName{path.substr(0, tail), std::stoull(path.substr(tail + 1, 5)),
                    std::stoull(path.substr(tail + 10, 5))};
}

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

void check_present(const PartName& name) {
    constexpr std::size_t most_named = 3;
    std::vector<std::string> missing;
    std::uint64_t n_missing = 0;
    for (std::uint64_t part = 1; part <= name.count; ++part) {
        std::error_code ignored;
        if (fs::exists(name.path(part), ignored)) continue;
        if (++n_missing <= most_named) missing.push_back(quote(file_name(name.path(part))));
    }
    if (n_missing == 0) return;
    throw Error(fmt::format("{} of {} parts are missing beside {}: {}{}", n_missing, name.count,
                            quote(file_name(name.path(name.number))), enumerated(missing, "and"),
                            n_missing > most_named ? " and others" : ""));
}

std::uint64_t count_of(const GgufHeader& header, std::string_view key) {
    const double value = header.number(key).value_or(0);
    return value > 0 && value < 1e9 ? static_cast<std::uint64_t>(value) : 0;
}

/// Throws Error unless `header` is the part that its name says.
void check_part(const GgufHeader& header, std::uint64_t part, const PartName& name) {
    const std::uint64_t count = count_of(header, "split.count");
    const std::uint64_t number = count_of(header, "split.no") + 1; // counted from 0
    if (count != name.count || number != part)
        throw Error(fmt::format("{} is part {} of {} by its metadata, and part {} of {} by its name", header.file,
                                number, count, part, name.count));
}

/// Appends the tensors of `part`, whose metadata must not contradict that of the first.
void append(GgufHeader& all, GgufHeader&& part) {
    const std::string_view architecture = part.architecture();
    if (!architecture.empty() && architecture != all.architecture())
        throw Error(part.file + " does not belong to the other parts: its architecture is " + quote(architecture) +
                    ", theirs " + quote(all.architecture()));
    for (GgufTensor& tensor : part.tensors) all.tensors.push_back(std::move(tensor));
    const auto add = [](std::uint64_t& sum, std::uint64_t bytes) { sum = checked_add(sum, bytes, "a split set"); };
    add(all.tensor_bytes, part.tensor_bytes);
    add(all.data_bytes, part.data_bytes);
    add(all.header_bytes, part.header_bytes);
    add(*all.file_bytes, *part.file_bytes);
}

void check_tensors(const GgufHeader& all, std::uint64_t n_parts) {
    std::vector<std::string_view> names;
    names.reserve(all.tensors.size());
    for (const GgufTensor& tensor : all.tensors) names.push_back(tensor.name);
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end())
        throw Error(all.file + " and the other parts have the tensor " + quote(*twice) + " twice: once would be right");
    const std::optional<double> said = all.number("split.tensors.count");
    if (said && *said != static_cast<double>(all.tensors.size()))
        throw Error(fmt::format("{}: its {} parts have {} tensors, and split.tensors.count is {}", all.file, n_parts,
                                all.tensors.size(), *said));
}

} // namespace

GgufHeader read_gguf_set(const std::string& path) {
    GgufHeader header = read_gguf_file(path);
    const std::uint64_t count = count_of(header, "split.count");
    if (count < 2) return header;
    const auto name = part_name(path);
    if (!name)
        throw Error(header.file + " is one of " + std::to_string(count) +
                    " parts, and its name does not say where the others are: NAME-00001-of-" +
                    fmt::format("{:05}", count) + ".gguf would be right");
    check_part(header, name->number, *name);
    check_present(*name);
    GgufHeader all = read_gguf_file(name->path(1));
    check_part(all, 1, *name);
    for (std::uint64_t part = 2; part <= name->count; ++part) {
        GgufHeader next = read_gguf_file(name->path(part));
        check_part(next, part, *name);
        append(all, std::move(next));
    }
    check_tensors(all, name->count);
    return all;
}

std::string gguf_stem(const std::string& path) {
    if (const auto part = part_name(path)) return file_name(part->prefix);
    std::string name = file_name(path);
    if (lower(name).ends_with(ending)) name.resize(name.size() - ending.size());
    return name;
}

} // namespace vramfit
