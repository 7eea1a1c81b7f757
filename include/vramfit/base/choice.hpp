#pragma once

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// A word that a person may say, and what it means.
template <typename Value>
struct Choice {
    std::string_view text;
    Value value;
};

/// The value of the word `given`. Throws Error for another word, naming `where` it stands and the first `shown`
/// choices; the others are further spellings.
template <typename Value, std::size_t n>
Value choose(std::string_view where, std::string_view given, const std::array<Choice<Value>, n>& choices,
             std::size_t shown = n) {
    std::vector<std::string_view> names;
    names.reserve(shown);
    for (const Choice<Value>& choice : choices) {
        if (choice.text == given) return choice.value;
        if (names.size() < shown) names.push_back(choice.text);
    }
    throw Error(std::string(where) + " must be " + enumerated(names, "or") + ", not " + quote(given));
}

} // namespace vramfit
