#include "store_folder.hpp"

#include <algorithm>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_entries = 20000;

} // namespace

std::optional<std::string> set_variable(const Environment& environment, std::string_view name) {
    auto value = environment(name);
    if (value && value->empty()) value.reset();
    return value;
}

std::optional<fs::path> home_folder(const Environment& environment) {
    for (const std::string_view name : {"HOME", "USERPROFILE"}) {
        if (const auto folder = set_variable(environment, name)) return fs::path(*folder);
    }
    return std::nullopt;
}

bool lies_in(const fs::path& path, const fs::path& folder) {
    std::error_code failed;
    const fs::path inner = fs::canonical(path, failed);
    if (failed) return false;
    const fs::path outer = fs::canonical(folder, failed);
    if (failed) return false;
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

std::vector<FoundFile> files_in(const fs::path& folder, int depth) {
    std::vector<FoundFile> files;
    std::error_code failed;
    fs::recursive_directory_iterator item(folder, fs::directory_options::skip_permission_denied, failed);
    const fs::recursive_directory_iterator end;
    for (std::size_t seen = 0; !failed && item != end && seen < most_entries; item.increment(failed), ++seen) {
        std::error_code unreadable;
        if (item->is_directory(unreadable)) {
            if (item.depth() >= depth) item.disable_recursion_pending();
            continue;
        }
        if (unreadable || !item->is_regular_file(unreadable)) continue;
        if (item->is_symlink(unreadable) && !lies_in(item->path(), folder)) continue;
        const std::uintmax_t bytes = item->file_size(unreadable);
        if (!unreadable) files.push_back({item->path(), bytes});
    }
    std::ranges::sort(files, {}, &FoundFile::path);
    return files;
}

} // namespace vramfit
