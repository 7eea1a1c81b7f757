#include "vramfit/base/text.hpp"

#include "catch.hpp"

#include <array>
#include <vector>

using namespace vramfit;

TEST_CASE("blanks are trimmed at both ends alone") {
    CHECK(trimmed(" \t24 GB\t ") == "24 GB");
    CHECK(trimmed("24GB") == "24GB");
    CHECK(trimmed(" \t ").empty());
    CHECK(trimmed("").empty());
}

TEST_CASE("the letters of ASCII become small, no others") {
    CHECK(lower("AZaz@[`{09") == "azaz@[`{09");
    CHECK(lower("\xC3\x84") == "\xC3\x84");
    CHECK(lower('Q') == 'q');
}

TEST_CASE("an enumeration has a comma between all but the last two") {
    using Words = std::vector<std::string>;
    CHECK(enumerated(Words{}) == "");
    CHECK(enumerated(Words{"a"}) == "a");
    CHECK(enumerated(Words{"a", "b"}) == "a or b");
    CHECK(enumerated(Words{"a", "b", "c"}) == "a, b or c");
    CHECK(enumerated(std::array<std::string_view, 3>{"a", "b", "c"}, "and") == "a, b and c");
}
