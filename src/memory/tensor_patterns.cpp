#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/memory/placement.hpp"

#include <algorithm>
#include <regex>

namespace vramfit {
namespace {

#ifdef __GLIBCXX__
// Without going back in the text: a hostile pattern takes no more time than its length times that of the name.
constexpr auto syntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto syntax = std::regex::ECMAScript;
#endif

// The parser of the standard library descends into parentheses; no pattern for tensors' names is longer.
constexpr std::size_t longest_pattern = 1000;

std::regex compiled(const std::string& pattern) {
    if (pattern.size() > longest_pattern)
        throw Error("the pattern " + quote(pattern) + " is too long: at most " + std::to_string(longest_pattern) +
                    " characters");
    try {
        return std::regex(pattern, syntax);
    } catch (const std::regex_error&) { // whose text differs from library to library
        throw Error("the pattern " + quote(pattern) +
                    " is no regular expression; one would be exps, or blk\\.[0-9]\\.ffn");
    }
}

} // namespace

TensorPatterns::TensorPatterns(const Model& model) : model_(model) {}

const std::vector<bool>& TensorPatterns::matches(const std::string& pattern) {
    const auto known = matches_.find(pattern);
    if (known != matches_.end()) return known->second;
    const std::regex expression = compiled(pattern);
    if (names_.empty()) {
        for (const Tensor& tensor : model_.tensors) names_.push_back(model_.full_name_of(tensor));
    }
    std::vector<bool> found;
    found.reserve(names_.size());
    try {
        for (const std::string& name : names_) found.push_back(std::regex_search(name, expression));
    } catch (const std::regex_error&) {
        throw Error("the pattern " + quote(pattern) + " is too complex to be searched for");
    }
    return matches_.emplace(pattern, std::move(found)).first->second;
}

bool TensorPatterns::any(const std::string& pattern) {
    const std::vector<bool>& found = matches(pattern);
    return std::ranges::find(found, true) != found.end();
}

} // namespace vramfit
