#pragma once

#include "vramfit/model/source.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vramfit {

/// A log, line by line, in constant memory however long it or a line of it is. Line ends of Windows are taken off. NUL
/// bytes are dropped, so that text in UTF-16 (what PowerShell's `>` writes) is read as its ASCII characters. A carriage
/// return inside of a line (progress bars start it anew with one) ends a piece of it; where a log has no other line ends,
/// it ends lines.
class LineReader {
public:
    explicit LineReader(ByteStream stream);

    /// The beginning of the log, up to 256 KiB, before its first line is taken; ends within a line unless the log is
    /// shorter. Throws Error where it is no text.
    std::string_view head();

    /// The next line, without its end; false at the end of the log. A line of more than `longest_line` bytes comes in
    /// pieces that have the same number. `line` is valid until the next call.
    bool next(std::string_view& line);

    std::uint64_t number() const { return number_; } ///< of the line that came last, from 1

    static constexpr std::size_t longest_line = 65536;

private:
    bool fill();
    std::size_t read_more();
    void drop_zeros(std::size_t from);
    void settle_line_ends(std::size_t from);
    void begin();
    std::size_t piece_length() const;

    ByteStream stream_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< of what was read and not yet given out
    std::size_t scanned_ = 0;         ///< bytes from begin_ that are known to hold no line end
    std::uint64_t number_ = 0;
    bool begun_ = false, at_end_ = false, inside_ = false;
    bool has_returns_ = false;       ///< carriage returns were seen
    bool returns_end_lines_ = false; ///< and nothing else does
};

} // namespace vramfit
