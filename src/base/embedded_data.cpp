#include "vramfit/base/embedded_data.hpp"

#include "base/embedded_tables.hpp"

#include <algorithm>

namespace vramfit::embedded {

std::optional<std::string_view> file(std::string_view path) {
    const auto paths = tables::file_paths;
    const auto found = std::lower_bound(paths.begin(), paths.end(), path);
    if (found == paths.end() || *found != path) return std::nullopt;
    return tables::file_texts[static_cast<std::size_t>(found - paths.begin())];
}

std::span<const std::string_view> files() { return tables::file_paths; }
std::span<const Entry> models() { return tables::models; }
std::span<const Entry> gpus() { return tables::gpus; }
std::span<const Name> model_names() { return tables::model_names; }
std::span<const Name> gpu_names() { return tables::gpu_names; }

std::span<const Name> with_key(std::span<const Name> names, std::string_view key) {
    const auto before = [](const Name& name, std::string_view k) { return name.key < k; };
    const auto after = [](std::string_view k, const Name& name) { return k < name.key; };
    const auto first = std::lower_bound(names.begin(), names.end(), key, before);
    return {first, std::upper_bound(first, names.end(), key, after)};
}

} // namespace vramfit::embedded
