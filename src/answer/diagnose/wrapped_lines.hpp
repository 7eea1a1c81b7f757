#pragma once

#include "line_reader.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How a log was wrapped: terminals, `fold` and forums break long lines at a fixed width, in the middle of words and
/// numbers; editors and mail programs at blanks, which they drop, and some indent what follows.
struct Wrapping {
    std::size_t width = 0;        ///< in columns; 0: lines are whole
    std::set<std::string> starts; ///< what most lines begin with, see `start_of`; empty: nothing in common
    bool at_blanks = false;       ///< and the blank is gone
    std::size_t indent = 0;       ///< of what goes on
};

/// Finds out from the beginning of a log. No line of a wrapped log is longer than its width, and what follows a line that
/// is that long does not look like a line's beginning.
Wrapping wrapping_of(std::string_view head);

/// The first characters of a line, digits as "0": the same for lines that begin with the same kind of timestamp.
std::string start_of(std::string_view line);

/// The lines of a log: those that were wrapped put together again, without quotation marks around them.
class WrappedLines {
public:
    explicit WrappedLines(ByteStream log);

    /// The next line; false at the end of the log. `line` is valid until the next call.
    bool next(std::string_view& line);

    /// The number, in the log, of the piece of the line that came last in which its byte `at` lies.
    std::uint64_t number_at(std::size_t at) const;

    std::uint64_t number() const { return lines_.number(); } ///< of the last line that was read

private:
    struct Piece {
        std::size_t at = 0; ///< in the line that was put together
        std::uint64_t number = 0;
    };

    bool read(std::string_view& line);
    bool goes_on(std::string_view line, std::string_view following) const;
    void append(std::string_view last, std::string_view following, bool is_quoted);

    LineReader lines_;
    Wrapping wrapping_;
    bool begun_ = false, has_ahead_ = false;
    std::string joined_, ahead_; ///< the line that is put together; the one that was read ahead of it
    std::uint64_t ahead_number_ = 0;
    std::vector<Piece> pieces_;
};

} // namespace vramfit
