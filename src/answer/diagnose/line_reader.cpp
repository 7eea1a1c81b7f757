#include "line_reader.hpp"

#include <algorithm>
#include <cstring>

namespace vramfit {
namespace {

constexpr std::size_t buffer_size = 4 * LineReader::longest_line;

} // namespace

LineReader::LineReader(ByteStream stream) : stream_(std::move(stream)), buffer_(buffer_size) {}

void LineReader::drop_zeros(std::size_t from) {
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    end_ = static_cast<std::size_t>(std::remove(first, last, '\0') - buffer_.begin());
}

/// Reads more behind what is left over; false where there is no more.
bool LineReader::fill() {
    if (at_end_) return false;
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const std::size_t from = end_;
    const std::size_t got = stream_(std::as_writable_bytes(std::span(buffer_).subspan(end_)));
    if (got == 0) {
        at_end_ = true;
        return false;
    }
    end_ += got;
    if (first_) {
        first_ = false;
        const std::string_view start(buffer_.data(), end_);
        wide_ = start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff");
        if (wide_) begin_ = 2;
        if (start.starts_with("\xef\xbb\xbf")) begin_ = 3;
    }
    if (wide_) drop_zeros(std::max(from, begin_));
    return true;
}

/// Where to cut a line that is too long: behind a blank, so that no word is cut.
std::size_t LineReader::piece_length() const {
    for (std::size_t length = longest_line; length > longest_line / 2; --length) {
        if (buffer_[begin_ + length - 1] == ' ') return length;
    }
    return longest_line;
}

bool LineReader::next(std::string_view& line) {
    for (;;) {
        const std::size_t held = end_ - begin_;
        const char* const start = buffer_.data() + begin_;
        const void* const found = held > scanned_ ? std::memchr(start + scanned_, '\n', held - scanned_) : nullptr;
        const bool whole = found != nullptr;
        std::size_t length = whole ? static_cast<std::size_t>(static_cast<const char*>(found) - start) : held;
        if (!whole && length <= longest_line) {
            scanned_ = held;
            if (fill()) continue;
            if (end_ == begin_) return false;
        }
        const bool cut = length > longest_line;
        if (cut) length = piece_length();
        if (!inside_) ++number_;
        inside_ = cut;
        scanned_ = 0;
        line = {buffer_.data() + begin_, length};
        begin_ += length + (whole && !cut ? 1 : 0);
        while (!cut && line.ends_with('\r')) line.remove_suffix(1);
        return true;
    }
}

} // namespace vramfit
