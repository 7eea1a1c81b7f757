#include "byte_reader.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <span>
#include <utility>

namespace vramfit {
namespace {

constexpr std::size_t buffer_bytes = 64 * kib; // stays in the processor's cache

} // namespace

ByteReader::ByteReader(const ByteStream& stream, std::string name, std::optional<std::uint64_t> size)
    : stream_(stream),
      name_(std::move(name)),
      size_(size),
      buffer_(buffer_bytes) {}

void ByteReader::fail_at(std::uint64_t position, const std::string& what) const {
    throw Error(name_ + ", byte " + std::to_string(position) + ": " + what);
}

void ByteReader::check_room(std::uint64_t bytes, std::string_view what) const {
    constexpr std::uint64_t most = tib; // of a stream whose end is not known: more than any model
    const std::uint64_t left = !size_ ? most : *size_ > position() ? *size_ - position() : 0;
    if (bytes > left)
        fail_at(position(), std::string(what) + " of at least " + std::to_string(bytes) + " bytes, more than the " +
                                (size_ ? std::to_string(left) + " that are left" : std::string("whole of any model")));
}

void ByteReader::fail_short(std::uint64_t missing) const {
    const std::uint64_t end = passed_ + end_;
    if (end == 0) throw Error(name_ + " is empty");
    throw Error(name_ + " ends at byte " + std::to_string(end) + ", in " + std::string(section_) +
                ": it needs at least " + std::to_string(checked_add(missing, pending_)) + " bytes more");
}

/// Behind the buffer's end; 0 at the end of the stream.
std::size_t ByteReader::refill() {
    const std::size_t n = stream_(std::span(buffer_).subspan(end_));
    end_ += n;
    return n;
}

void ByteReader::fill(std::size_t wanted) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(at_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
              buffer_.begin());
    passed_ += at_;
    end_ -= at_;
    at_ = 0;
    while (end_ < wanted) {
        if (refill() == 0) fail_short(wanted - end_);
    }
}

void ByteReader::skip(std::uint64_t length) {
    while (length > end_ - at_) {
        length -= end_ - at_;
        passed_ += end_;
        at_ = end_ = 0;
        if (refill() == 0) fail_short(length);
    }
    at_ += static_cast<std::size_t>(length);
}

std::string ByteReader::text(std::uint64_t length) {
    std::string text; // grows with what comes: the length may be a lie
    while (true) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, end_ - at_));
        text.append(reinterpret_cast<const char*>(buffer_.data()) + at_, n);
        at_ += n;
        length -= n;
        if (length == 0) return text;
        passed_ += end_;
        at_ = end_ = 0;
        if (refill() == 0) fail_short(length);
    }
}

} // namespace vramfit
