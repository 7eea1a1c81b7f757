#pragma once

#include "vramfit/base/byte_stream.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace vramfit::test {

/// A stream of `text` that hands out at most `step` bytes at once, and counts them.
struct TextStream {
    std::string text;
    std::size_t step = 4096;
    std::size_t at = 0;

    ByteStream stream() {
        return [this](std::span<std::byte> buffer) {
            const std::size_t n = std::min({buffer.size(), step, text.size() - at});
            std::memcpy(buffer.data(), text.data() + at, n);
            at += n;
            return n;
        };
    }
};

} // namespace vramfit::test
