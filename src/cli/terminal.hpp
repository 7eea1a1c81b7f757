#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vramfit::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

enum class Color : std::uint8_t { red, green, yellow, bold, dim };

/// The terminal that the answer goes to, and every rule of colours and characters that follows from it. A pipe gets
/// the same text as a terminal, without the colours.
class Terminal {
public:
    /// Value of an environment variable, empty where unset.
    using Environment = std::function<std::string(const char*)>;

    Terminal(bool is_terminal, const Environment& environment);

    static Terminal of_process(); ///< standard output of this process

    Terminal with(ColorMode mode) const; ///< under the option `--color`

    bool colored() const { return colored_; }

    /// Characters beyond ASCII can be shown: the locale's character set is UTF-8.
    bool utf8() const { return utf8_; }

    std::string paint(Color color, std::string_view text) const; ///< as it is where there is no colour

    /// A bar `length` eighths of a character long; without UTF-8 whole '#' characters. Nothing only for 0.
    std::string bar(std::uint64_t length) const;
    std::string light_bar(std::uint64_t length) const; ///< for what is free

    std::string_view times() const { return utf8_ ? "\u00d7" : "x"; }

private:
    bool colored_ = false;
    bool utf8_ = false;
};

} // namespace vramfit::cli
