#include "line_reader.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>
#include <cstring>

namespace vramfit {
namespace {

constexpr std::size_t buffer_size = 4 * LineReader::longest_line;

/// Programs, archives and model files are no logs: one byte in twenty of theirs or more is a control character that no
/// terminal knows. NUL bytes do not count, which UTF-16 and files that were cut while being written have.
bool is_text(std::string_view head) {
    std::size_t strange = 0, zeros = 0;
    for (const char c : head) {
        const auto byte = static_cast<unsigned char>(c);
        zeros += byte == 0 ? 1 : 0;
        strange += (byte > 0 && byte < '\a') || (byte > '\r' && byte < ' ' && byte != '\x1b') ? 1 : 0;
    }
    constexpr std::size_t forgiven = 8;
    return strange <= forgiven || strange * 20 <= head.size() - zeros;
}

} // namespace

LineReader::LineReader(ByteStream stream) : stream_(std::move(stream)), buffer_(buffer_size) {}

/// Text in UTF-16 starts with a mark, and every other byte of its ASCII characters is zero.
void LineReader::drop_zeros(std::size_t from) {
    if (std::memchr(buffer_.data() + from, '\0', end_ - from) == nullptr) return;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    end_ = static_cast<std::size_t>(std::remove(first, last, '\0') - buffer_.begin());
}

void LineReader::settle_line_ends(std::size_t from) {
    has_returns_ = has_returns_ || std::memchr(buffer_.data() + from, '\r', end_ - from) != nullptr;
    if (returns_end_lines_) std::replace(buffer_.data() + from, buffer_.data() + end_, '\r', '\n');
}

/// Reads once behind what is held: how many bytes came.
std::size_t LineReader::read_more() {
    const std::size_t got = stream_(std::as_writable_bytes(std::span(buffer_).subspan(end_)));
    at_end_ = got == 0;
    end_ += got;
    return got;
}

/// Fills the buffer for the first time: what the beginning is like decides how the rest is read.
void LineReader::begin() {
    begun_ = true;
    while (end_ < buffer_.size() && read_more() > 0) {
    }
    const std::string_view start(buffer_.data(), end_);
    if (!is_text(start)) throw Error("the log holds no text but binary data; give what the program printed");
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) begin_ = 2;
    if (start.starts_with("\xef\xbb\xbf")) begin_ = 3;
    drop_zeros(begin_);
    const bool feeds = std::memchr(buffer_.data(), '\n', end_) != nullptr;
    returns_end_lines_ = !feeds && std::memchr(buffer_.data(), '\r', end_) != nullptr;
    settle_line_ends(begin_);
}

std::string_view LineReader::head() {
    if (!begun_) begin();
    return {buffer_.data() + begin_, end_ - begin_};
}

/// Reads more behind what is left over; false where there is no more.
bool LineReader::fill() {
    if (!begun_) {
        begin();
        return end_ > begin_;
    }
    if (at_end_) return false;
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const std::size_t from = end_;
    if (read_more() == 0) return false;
    drop_zeros(from);
    settle_line_ends(from);
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
        std::size_t taken = length + (whole ? 1 : 0);
        bool cut = length > longest_line;
        if (cut) length = taken = piece_length();
        line = {buffer_.data() + begin_, length};
        if (has_returns_) {
            while (!cut && line.ends_with('\r')) line.remove_suffix(1);
            if (const std::size_t back = line.find('\r'); back != std::string_view::npos) {
                line = line.substr(0, back);
                taken = back + 1;
                cut = true;
            }
        }
        if (!inside_) ++number_;
        inside_ = cut;
        scanned_ = 0;
        begin_ += taken;
        return true;
    }
}

} // namespace vramfit
