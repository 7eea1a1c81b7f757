#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vramfit {

/// Something private at the head of a text: how long it is, and what a report shows instead. Length 0: there is none.
struct PrivateWord {
    std::size_t length = 0;
    std::string shown;
};

/// A key, an address, a path or a name at the head of `text`. `before` is the text in front of it: what looks like an
/// address may be a version or a time.
PrivateWord private_word(std::string_view text, std::string_view before);

/// How long the other part of a user's name is, with the blank in front: of " Jones" behind "Bob". 0: there is none.
std::size_t surname_length(std::string_view behind);

bool is_word_char(char c); ///< of names: letters, digits, `_` and `-`

} // namespace vramfit
