#include "cli/layout.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>
#include <array>

namespace vramfit::cli {

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    bool in_color_code = false;
    for (const char c : text) {
        if (c == '\033') in_color_code = true;
        const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; // inside a character of UTF-8
        if (!in_color_code && !continues) ++width;
        if (c == 'm') in_color_code = false;
    }
    return width;
}

std::string pad_right(std::string_view text, std::size_t width) {
    const std::size_t used = display_width(text);
    return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
    const std::size_t used = display_width(text);
    return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string shortened(std::string_view text, std::size_t width) {
    constexpr std::string_view dots = "..";
    if (display_width(text) <= width) return std::string(text);
    std::size_t end = text.size();
    while (end > 0 && display_width(text.substr(0, end)) + dots.size() > width) {
        do --end;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U); // whole characters of UTF-8
    }
    return std::string(text.substr(0, end)).append(dots);
}

std::string edges(std::string_view left, std::string_view right, std::size_t width) {
    constexpr std::size_t gap = 2;
    if (display_width(left) + gap + display_width(right) > width) {
        return std::string(left) + "\n" + pad_left(right, width) + "\n";
    }
    return std::string(left) + pad_left(right, width - display_width(left)) + "\n";
}

std::string wrapped(std::string_view first, const std::vector<std::string>& pieces, std::string_view line_end) {
    const std::size_t indent = display_width(first);
    const std::size_t width = screen_width - display_width(line_end);
    std::string result(first);
    std::size_t column = indent;
    for (const std::string& piece : pieces) {
        const std::size_t needed = display_width(piece);
        const bool at_start = column == indent;
        if (!at_start && column + 1 + needed > width) {
            result.append(line_end).append("\n").append(indent, ' ');
            column = indent;
        } else if (!at_start) {
            result += ' ';
            ++column;
        }
        result += piece;
        column += needed;
    }
    return result + "\n";
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (!word.empty()) words.emplace_back(word);
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return words;
}

std::vector<std::string> with_values(const std::vector<std::string>& words) {
    std::vector<std::string> pieces;
    for (const std::string& word : words) {
        const bool is_value = !word.starts_with('-') && !pieces.empty() && pieces.back().starts_with('-') &&
                              pieces.back().find(' ') == std::string::npos;
        if (is_value) {
            pieces.back() += " " + word;
        } else {
            pieces.push_back(word);
        }
    }
    return pieces;
}

std::string wrapped(std::string_view first, std::string_view text, std::string_view line_end) {
    return wrapped(first, words_of(text), line_end);
}

std::uint64_t magnitude(std::int64_t headroom) {
    return headroom < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(headroom)
                        : static_cast<std::uint64_t>(headroom);
}

std::string size_text(std::uint64_t bytes) {
    if (bytes == 0 || bytes >= gib / 10) return format_gib(bytes);
    return bytes >= mib ? format_mib(bytes) : format_bytes(bytes);
}

std::string part_of_text(std::uint64_t part, std::uint64_t whole) {
    std::string first = size_text(part);
    const std::string second = size_text(whole);
    const std::string_view unit = std::string_view(second).substr(second.find(' '));
    if (first.ends_with(unit)) first.resize(first.size() - unit.size());
    return first + " of " + second;
}

std::string parameters_text(std::uint64_t parameters) {
    struct Scale {
        std::uint64_t unit;
        char letter;
    };
    static constexpr std::array<Scale, 3> scales{{{1'000'000'000'000, 'T'}, {1'000'000'000, 'B'}, {1'000'000, 'M'}}};
    for (const Scale& scale : scales) {
        if (parameters < scale.unit - scale.unit / 2000) continue; // 999.5 million is 1.0B
        const std::uint64_t tenths = (parameters + scale.unit / 20) / (scale.unit / 10);
        if (scale.letter == 'M' || tenths >= 1000) {
            return std::to_string((parameters + scale.unit / 2) / scale.unit) + scale.letter;
        }
        return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + scale.letter;
    }
    return std::to_string(parameters);
}

} // namespace vramfit::cli
