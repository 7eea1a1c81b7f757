#pragma once

#include "vramfit/model/source.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vramfit {

/// A log, line by line, in constant memory however long it or a line of it is. Line ends of Windows are taken off, and
/// text in UTF-16 (what PowerShell's `>` writes) is read as its ASCII characters.
class LineReader {
public:
    explicit LineReader(ByteStream stream);

    /// The next line, without its end; false at the end of the log. A line of more than `longest_line` bytes comes in
    /// pieces that have the same number. `line` is valid until the next call.
    bool next(std::string_view& line);

    std::uint64_t number() const { return number_; } ///< of the line that came last, from 1

    static constexpr std::size_t longest_line = 65536;

private:
    bool fill();
    void drop_zeros(std::size_t from);
    std::size_t piece_length() const;

    ByteStream stream_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< of what was read and not yet given out
    std::size_t scanned_ = 0;         ///< bytes from begin_ that are known to hold no line end
    std::uint64_t number_ = 0;
    bool at_end_ = false, wide_ = false, first_ = true, inside_ = false;
};

} // namespace vramfit
