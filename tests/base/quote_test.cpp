#include "catch.hpp"

#include "vramfit/base/quote.hpp"

#include <string>

using vramfit::json_without_controls;
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

TEST_CASE("nothing that a terminal acts upon gets through") {
    CHECK(quote("a\xC2\x9B"
                "31m") == "\"a?31m\""); // U+009B, the one-character form of ESC [
    CHECK(quote("a\xC2\x80"
                "b") == "\"a?b\""); // U+0080
    CHECK(quote("a\x7F"
                "b") == "\"a?b\"");
    CHECK(quote("\xE2\x80\xAA"
                "a\xE2\x80\xAE") == "\"?a?\""); // U+202A, U+202E
    CHECK(quote("\xE2\x81\xA6"
                "a\xE2\x81\xA9") == "\"?a?\""); // U+2066, U+2069
    CHECK(quote("\xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80") == "\"\xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

TEST_CASE("bytes that are no UTF-8 are replaced one by one") {
    CHECK(quote("a\x9B"
                "31m") == "\"a?31m\"");        // C1 where a terminal takes bytes for Latin-1
    CHECK(quote("\xC0\x8A") == "\"??\"");      // an overlong line feed
    CHECK(quote("\xE2\x82") == "\"??\"");      // torn
    CHECK(quote("\xED\xA0\x80") == "\"???\""); // a surrogate
    CHECK(quote("\xF4\x90\x80\x80") == "\"????\"");
    CHECK(quote("\xFF") == "\"?\"");
    CHECK(quote(std::string(100, '\x80')) == "\"" + std::string(60, '?') + "...\"");
}

TEST_CASE("JSON keeps its meaning, without what a terminal would act upon") {
    CHECK(json_without_controls("{\n  \"a\": \"\xC2\x9B"
                                "31m\"\n}") == "{\n  \"a\": \"\\u009b31m\"\n}"); // CSI as one character
    CHECK(json_without_controls("\"\x7F\xE2\x80\xAE\xE2\x81\xA6\"") == "\"\\u007f\\u202e\\u2066\"");
    CHECK(json_without_controls("\"\xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"") ==
          "\"\xC2\xA0\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}
