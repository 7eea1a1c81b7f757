#pragma once

#include "vramfit/model/source.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace vramfit::test {

/// A log as a stream that gives at most `chunk` bytes at once.
inline ByteStream log_stream(std::string text, std::size_t chunk = 4096) {
    const auto held = std::make_shared<std::string>(std::move(text));
    const auto at = std::make_shared<std::size_t>(0);
    return [held, at, chunk](std::span<std::byte> buffer) {
        const std::size_t n = std::min({buffer.size(), chunk, held->size() - *at});
        std::memcpy(buffer.data(), held->data() + *at, n);
        *at += n;
        return n;
    };
}

} // namespace vramfit::test
