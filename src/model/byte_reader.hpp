#pragma once

#include "vramfit/base/byte_stream.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Reads numbers and text from a stream, front to back, through a buffer of fixed size. Knows where it stands, and
/// how much must follow, so that a stream that ends too early can be told how much it lacks.
class ByteReader {
public:
    /// `name` stands for the stream in messages; `size` is its whole length, where it is known.
    ByteReader(const ByteStream& stream, std::string name, std::optional<std::uint64_t> size);

    const std::string& name() const { return name_; }
    std::uint64_t position() const { return passed_ + at_; }
    void set_byte_order(std::endian order) { swap_ = order != std::endian::native; }

    /// What is being read, for messages: "the metadata".
    void enter(std::string_view section) { section_ = section; }
    /// How many bytes must follow behind the next item, at least.
    void set_pending(std::uint64_t bytes) { pending_ = bytes; }

    template <typename T>
    T number() {
        if (end_ - at_ < sizeof(T)) fill(sizeof(T));
        std::array<std::byte, sizeof(T)> bytes;
        std::memcpy(bytes.data(), buffer_.data() + at_, sizeof(T));
        if (swap_) std::reverse(bytes.begin(), bytes.end());
        at_ += sizeof(T);
        return std::bit_cast<T>(bytes);
    }
    std::string text(std::uint64_t length);
    void skip(std::uint64_t length);
    /// Passes over a text behind its length in 8 bytes, if all of it is in the buffer: of a vocabulary nearly every one.
    bool skip_buffered_text() {
        const std::size_t start = at_;
        if (end_ - at_ < sizeof(std::uint64_t)) return false;
        const auto length = number<std::uint64_t>();
        const bool buffered = length <= end_ - at_;
        at_ = buffered ? at_ + static_cast<std::size_t>(length) : start;
        return buffered;
    }

    /// Throws Error for what stands at the byte `position`.
    [[noreturn]] void fail_at(std::uint64_t position, const std::string& what) const;
    /// Throws Error unless `bytes` more bytes can follow; `what` they are for.
    void check_room(std::uint64_t bytes, std::string_view what) const;

private:
    void fill(std::size_t wanted);
    std::size_t refill();
    [[noreturn]] void fail_short(std::uint64_t missing) const;

    const ByteStream& stream_;
    std::string name_;
    std::optional<std::uint64_t> size_;
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0;        ///< of the buffer: what is read next
    std::size_t end_ = 0;       ///< of the buffer: what has been filled
    std::uint64_t passed_ = 0;  ///< bytes of the stream in front of the buffer
    std::uint64_t pending_ = 0; ///< see set_pending
    std::string_view section_;
    bool swap_ = false;
};

} // namespace vramfit
