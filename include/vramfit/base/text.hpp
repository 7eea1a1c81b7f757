#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramfit {

/// Small work on text that messages and parsers have in common. Letters are those of ASCII: names and units are the
/// same whatever the locale.

/// `text` without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

/// `c`, or the small letter where it is one of A to Z.
char lower(char c);

/// `text` in small letters.
std::string lower(std::string_view text);

/// "a", "a or b", "a, b or c": the `items` (anything that a string can be made of) with `last` before the last one.
template <typename Items>
std::string enumerated(const Items& items, std::string_view last = "or") {
    std::string text;
    std::size_t left = items.size();
    for (const auto& item : items) {
        if (!text.empty()) {
            text += left == 1 ? " " + std::string(last) + " " : ", ";
        }
        text += item;
        --left;
    }
    return text;
}

} // namespace vramfit
