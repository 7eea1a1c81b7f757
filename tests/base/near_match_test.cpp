#include "vramfit/base/near_match.hpp"

#include "catch.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

using vramfit::did_you_mean;
using vramfit::near_matches;

namespace {

constexpr std::array<std::string_view, 6> quants{"Q8_0", "Q5_K_M", "Q4_K_M", "Q4_K_S", "Q4_0", "IQ4_XS"};
constexpr std::array<std::string_view, 4> models{"llama3.1-8b", "llama3.1-70b", "qwen2.5-7b", "mistral-7b"};
using Names = std::vector<std::string>;

} // namespace

TEST_CASE("names that begin with what was typed come first, the shortest in front") {
    CHECK(near_matches("q4", quants) == Names{"Q4_0", "Q4_K_M", "Q4_K_S"});
    CHECK(near_matches("llama3.1", models) == Names{"llama3.1-8b", "llama3.1-70b"});
}

TEST_CASE("a name that holds what was typed, or is held by it, is near") {
    CHECK(near_matches("4_xs", quants).front() == "IQ4_XS");
    CHECK(near_matches("my-mistral-7b-gguf", models) == Names{"mistral-7b"});
}

TEST_CASE("typing errors are forgiven up to about a third of the name") {
    CHECK(near_matches("mistarl-7b", models) == Names{"mistral-7b"});  // two letters swapped
    CHECK(near_matches("qwen2.5-7", models) == Names{"qwen2.5-7b"});   // one missing
    CHECK(near_matches("qwenn2.5-7b", models) == Names{"qwen2.5-7b"}); // one too many
    CHECK(near_matches("Q4_K_X", quants).front() == "Q4_K_M");         // one changed
    CHECK(near_matches("banana", models).empty());
    CHECK(near_matches("", models).empty());
    CHECK(near_matches("--", models).empty());
}

TEST_CASE("case and separators do not count") { CHECK(near_matches("LLAMA_31_8B", models, 1) == Names{"llama3.1-8b"}); }

TEST_CASE("no more names than asked for, none twice") {
    constexpr std::array<std::string_view, 3> twice{"abc", "abc", "abd"};
    CHECK(near_matches("abc", twice) == Names{"abc", "abd"});
    CHECK(near_matches("q4", quants, 1) == Names{"Q4_0"});
}

TEST_CASE("the end of an error message reads as English") {
    CHECK(did_you_mean("q4", quants) == "; did you mean Q4_0, Q4_K_M or Q4_K_S?");
    CHECK(did_you_mean("llama3.1", models) == "; did you mean llama3.1-8b or llama3.1-70b?");
    CHECK(did_you_mean("mistarl-7b", models) == "; did you mean mistral-7b?");
    CHECK(did_you_mean("banana", models).empty());
}
