#include "vramfit/base/byte_stream.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <system_error>
#include <utility>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

/// Opening a pipe waits for its other end, and a device never ends: both are refused before they are opened.
void check_regular(const std::string& path) {
    std::error_code failed;
    const fs::file_status status = fs::status(fs::path(path), failed);
    if (status.type() == fs::file_type::not_found) throw Error("no file " + quote(path));
    if (failed) throw Error("cannot read " + quote(path) + ": " + failed.message());
    if (status.type() == fs::file_type::directory) throw Error(quote(path) + " is a folder, not a file");
    if (status.type() != fs::file_type::regular) throw Error(quote(path) + " is a device or a pipe, not a file");
}

} // namespace

ByteFile open_byte_file(const std::string& path) {
    check_regular(path);
    const auto file = std::make_shared<std::ifstream>(fs::path(path), std::ios::binary);
    if (!file->is_open()) throw Error("cannot read " + quote(path) + ": it may not be opened");
    const std::streamoff size = file->seekg(0, std::ios::end).tellg();
    if (size < 0 || !file->seekg(0)) throw Error("cannot read " + quote(path) + ": its size is not known");
    const auto read = [file, path](std::span<std::byte> buffer) {
        try {
            const auto wanted = static_cast<std::streamsize>(buffer.size());
            const auto got = file->rdbuf()->sgetn(reinterpret_cast<char*>(buffer.data()), wanted);
            return static_cast<std::size_t>(std::max<std::streamsize>(got, 0));
        } catch (const std::ios_base::failure&) {
            throw Error("reading " + quote(path) + " failed");
        }
    };
    return {read, static_cast<std::uint64_t>(size)};
}

ByteStream with_head(std::string head, ByteStream rest) {
    const auto text = std::make_shared<const std::string>(std::move(head));
    return [text, done = std::size_t{0}, rest = std::move(rest)](std::span<std::byte> buffer) mutable -> std::size_t {
        if (done == text->size()) return rest ? rest(buffer) : 0;
        const std::size_t n = std::min(buffer.size(), text->size() - done);
        std::memcpy(buffer.data(), text->data() + done, n);
        done += n;
        return n;
    };
}

} // namespace vramfit
