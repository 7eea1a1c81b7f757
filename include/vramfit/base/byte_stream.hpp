#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace vramfit {

/// Reads the next bytes of a stream into `buffer`; returns how many, 0 at its end.
using ByteStream = std::function<std::size_t(std::span<std::byte> buffer)>;

/// A regular file, open for reading from its beginning.
struct ByteFile {
    ByteStream stream;
    std::uint64_t size = 0; ///< in bytes, when it was opened
};

/// Opens `path`. Throws Error where there is nothing of that name, where it is no regular file (a folder, a device, a
/// pipe), and where it may not be read; the stream throws Error where reading fails. A file that shrinks while it is
/// read just ends early: it is read, not mapped, so that no change of it can crash the program.
ByteFile open_byte_file(const std::string& path);

/// `head`, then what `rest` still has (nothing, where it is empty): a stream whose first bytes were looked at.
ByteStream with_head(std::string head, ByteStream rest);

} // namespace vramfit
