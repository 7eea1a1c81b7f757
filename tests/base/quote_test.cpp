#include "catch.hpp"

#include "vramfit/base/quote.hpp"

#include <string>

using vramfit::quote;

TEST_CASE("a quoted text stays as it is when it is short and printable") {
    CHECK(quote("24 bananas") == "\"24 bananas\"");
    CHECK(quote("") == "\"\"");
    CHECK(quote("\xC3\xA4") == "\"\xC3\xA4\"");
}

TEST_CASE("a quoted text never breaks the line of a message") {
    CHECK(quote("24\nGB") == "\"24?GB\"");
    CHECK(quote("\x1b[31mred") == "\"?[31mred\"");
    CHECK(quote(std::string("a\0b", 3)) == "\"a?b\"");
}

TEST_CASE("a long text is cut after 60 bytes, never inside a character") {
    CHECK(quote(std::string(60, 'x')) == "\"" + std::string(60, 'x') + "\"");
    CHECK(quote(std::string(61, 'x')) == "\"" + std::string(60, 'x') + "...\"");
    CHECK(quote(std::string(59, 'x') + "\xC3\xA4yz") == "\"" + std::string(59, 'x') + "...\"");
}
