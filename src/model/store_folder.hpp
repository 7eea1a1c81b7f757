#pragma once

#include "vramfit/base/environment.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The folders of other programs: where they lie, and a walk through them that no link and no number of files can
/// lead astray.

/// The value of a variable; nothing where it is empty, too.
std::optional<std::string> set_variable(const Environment& environment, std::string_view name);

/// The user's folder: HOME, on Windows USERPROFILE.
std::optional<std::filesystem::path> home_folder(const Environment& environment);

/// Whether `path`, links resolved, lies in `folder`.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

/// A file that a walk has found.
struct FoundFile {
    std::filesystem::path path;
    std::uint64_t bytes = 0; ///< of what it links to, where it is a link
};

/// The regular files in `folder`, down to `depth` folders below it, sorted by path. Folders that are links are not
/// entered, and files that link to something outside of `folder` are left out. Ends after 20000 entries. What cannot
/// be read is left out.
std::vector<FoundFile> files_in(const std::filesystem::path& folder, int depth);

} // namespace vramfit
