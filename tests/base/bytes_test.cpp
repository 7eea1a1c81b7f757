#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using namespace vramfit;

namespace {

std::string size_error(std::string_view text) {
    try {
        parse_size(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

std::string token_error(std::string_view text) {
    try {
        parse_tokens(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

} // namespace

TEST_CASE("a card's GB is binary, and a bare number is GB") {
    CHECK(parse_size("24GB") == 25769803776ULL); // 24 x 1024^3
    CHECK(parse_size("24GiB") == 25769803776ULL);
    CHECK(parse_size("24") == 25769803776ULL);
    CHECK(parse_size("24g") == 25769803776ULL);
    CHECK(parse_size(" 24 gb ") == 25769803776ULL);
}

TEST_CASE("sizes in every unit") {
    CHECK(parse_size("0") == 0);
    CHECK(parse_size("0GB") == 0);
    CHECK(parse_size("4096B") == 4096);
    CHECK(parse_size("512K") == 524288);
    CHECK(parse_size("512KiB") == 524288);
    CHECK(parse_size("24564MiB") == 25757220864ULL); // 24564 x 1048576
    CHECK(parse_size("24564MB") == 25757220864ULL);
    CHECK(parse_size("1TiB") == 1099511627776ULL);
}

TEST_CASE("fractions are exact, and rounded down to a byte") {
    CHECK(parse_size("1.5GiB") == 1610612736ULL);
    CHECK(parse_size("0.5K") == 512);
    CHECK(parse_size("4403.49MiB") == 4617393930ULL); // 4617393930.2...
    CHECK(parse_size("0.0000000000000000000000000000001GB") == 0);
    CHECK(parse_size("0.9999999999999999999999999999999GB") == 1073741823);
    CHECK(parse_size("1.000000000000000000000000000000000000000GB") == 1073741824);
}

TEST_CASE("the largest size is 1 EiB") {
    CHECK(parse_size("1048576TiB") == 1152921504606846976ULL);
    CHECK(size_error("1048577TiB") ==
          "\"1048577TiB\" is not a size: it is too large; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("1048576.5TiB") ==
          "\"1048576.5TiB\" is not a size: it is too large; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("99999999999999999999999999GB") ==
          "\"99999999999999999999999999GB\" is not a size: it is too large; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("25769803776") == "\"25769803776\" is not a size: it is too large (a number without a unit is "
                                       "GB); write it like 24GB, 24564MiB or 1.5GiB");
}

TEST_CASE("what is not a size says what would be one") {
    CHECK(size_error("24 bananas") ==
          "\"24 bananas\" is not a size: the unit \"bananas\" is not known; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("24Gb/s") ==
          "\"24Gb/s\" is not a size: the unit \"gb/s\" is not known; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("-1GB") == "\"-1GB\" is not a size: it is negative; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("nan") == "\"nan\" is not a size; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("") == "\"\" is not a size; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(size_error("24\nGB").find('\n') == std::string::npos);
}

TEST_CASE("numbers that only look like sizes are refused") {
    for (const std::string_view text : {"inf", "1e9", "1e3GB", "0x18GB", "+24GB", ".5GB", "5.GB", "1.2.3GB", "1,5GB",
                                        "24 G B", "GB", "24%", "--", " "}) {
        INFO(text);
        CHECK(size_error(text) != "accepted");
    }
}

TEST_CASE("contexts in tokens") {
    CHECK(parse_tokens("32768") == 32768);
    CHECK(parse_tokens("32k") == 32768);
    CHECK(parse_tokens("128K") == 131072);
    CHECK(parse_tokens("1M") == 1048576);
    CHECK(parse_tokens("1") == 1);
    CHECK(parse_tokens("2147483647") == 2147483647);
}

TEST_CASE("max and 0 leave the context to the model") {
    CHECK(parse_tokens("0") == 0);
    CHECK(parse_tokens("max") == 0);
    CHECK(parse_tokens("MAX") == 0);
}

TEST_CASE("what is not a context says what would be one") {
    CHECK(token_error("-1") == "\"-1\" is not a context size: it is negative; write tokens like 32768, 32k, or max");
    CHECK(token_error("1.5k") ==
          "\"1.5k\" is not a context size: it has a fraction; write tokens like 32768, 32k, or max");
    CHECK(token_error("lots") == "\"lots\" is not a context size; write tokens like 32768, 32k, or max");
    CHECK(token_error("32kb") ==
          "\"32kb\" is not a context size: \"kb\" is neither k nor M; write tokens like 32768, 32k, or max");
    CHECK(token_error("2147483648") ==
          "\"2147483648\" is not a context size: it is more than 2147483647; write tokens like 32768, 32k, or max");
    CHECK(token_error("2048M") ==
          "\"2048M\" is not a context size: it is more than 2147483647; write tokens like 32768, 32k, or max");
    for (const std::string_view text : {"", " ", "1e5", "32,768", "0x800", "+1", "nan", "99999999999999999999999"}) {
        INFO(text);
        CHECK(token_error(text) != "accepted");
    }
}

TEST_CASE("sizes as a person reads them") {
    CHECK(format_gib(25769803776ULL) == "24.0 GiB");
    CHECK(format_gib(9878424781ULL) == "9.2 GiB"); // 9.2000...
    CHECK(format_gib(107374183ULL) == "0.1 GiB");  // 0.1 GiB, rounded up to a byte
    CHECK(format_gib(2093796556ULL) == "1.9 GiB"); // 1.9499...
    CHECK(format_gib(2093796557ULL) == "2.0 GiB"); // 1.95
    CHECK(format_mib(4617393930ULL) == "4403 MiB");
    CHECK(format_exact_mib(4617394176ULL) == "4403.49 MiB");
    CHECK(format_exact_mib(271056896ULL) == "258.50 MiB"); // 258.5 x 1048576
    CHECK(format_exact_mib(1048576ULL + 10486ULL) == "1.01 MiB");
    CHECK(format_exact_mib(1048575ULL) == "1.00 MiB");
}

TEST_CASE("the unit that suits a size") {
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(1023) == "1023 B");
    CHECK(format_bytes(131072) == "128 KiB");
    CHECK(format_bytes(1536) == "1.5 KiB");
    CHECK(format_bytes(1048575) == "1 MiB"); // 1023.999 KiB would print as 1024.0
    CHECK(format_bytes(271056896) == "258.5 MiB");
    CHECK(format_bytes(1073741823) == "1.0 GiB");
    CHECK(format_bytes(4294967296ULL) == "4.0 GiB");
    CHECK(format_bytes(largest_size) == "1048576.0 TiB");
    CHECK(format_bytes(std::numeric_limits<std::uint64_t>::max()) == "16777216.0 TiB");
}

TEST_CASE("arithmetic that leaves 64 bits is refused") {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    CHECK(checked_mul(0, most) == 0);
    CHECK(checked_mul(most, 0) == 0);
    CHECK(checked_mul(most, 1) == most);
    CHECK(checked_mul(4294967296ULL, 4294967295ULL) == 18446744069414584320ULL);
    CHECK_THROWS_AS(checked_mul(4294967296ULL, 4294967296ULL), Error);
    CHECK(checked_add(most - 1, 1) == most);
    CHECK_THROWS_AS(checked_add(most, 1), Error);
    CHECK_THROWS_WITH(checked_mul(most, 2, "the KV cache"), "the KV cache is too large: it does not fit 64 bits");
}

TEST_CASE("padding rounds up to any alignment") {
    CHECK(pad(0, 256) == 0);
    CHECK(pad(1, 256) == 256);
    CHECK(pad(256, 256) == 256);
    CHECK(pad(257, 256) == 512);
    CHECK(pad(10, 3) == 12);
    CHECK_THROWS_AS(pad(std::numeric_limits<std::uint64_t>::max(), 256), Error);
}

TEST_CASE("numbers of parameters are read with decimal units") {
    CHECK(parse_parameters("8B") == 8'000'000'000);
    CHECK(parse_parameters("1.5t") == 1'500'000'000'000);
    CHECK(parse_parameters("500 M") == 500'000'000);
    CHECK(parse_parameters("7000000000") == 7'000'000'000);
    CHECK(parse_parameters("0") == 0);
    for (const char* bad : {"", "B", "-7B", "7G", "7 billion", "1e9", "9999T", "99999999999999999999"})
        CHECK_THROWS_AS(parse_parameters(bad), Error);
}
