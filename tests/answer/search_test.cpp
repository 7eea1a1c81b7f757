#include "answer/search.hpp"

#include "catch.hpp"

#include <set>

using namespace vramfit;

TEST_CASE("the last value that fits is found on a line with four questions") {
    unsigned asked = 0;
    const auto found = last_that_fits(1, 512, [&](std::uint64_t x) {
        ++asked;
        return 20000 - 100 * static_cast<std::int64_t>(x);
    });
    CHECK(found == 200);
    CHECK(asked <= 4);
}

TEST_CASE("where everything fits one question is enough, where nothing does two") {
    unsigned asked = 0;
    const auto constant = [&](std::int64_t spare) {
        return [&asked, spare](std::uint64_t) {
            ++asked;
            return spare;
        };
    };
    CHECK(last_that_fits(1, 512, constant(0)) == 512);
    CHECK(asked == 1);
    CHECK(last_that_fits(1, 512, constant(-1)) == std::nullopt);
    CHECK(asked == 3);
    CHECK(last_that_fits(7, 7, constant(-1)) == std::nullopt);
}

TEST_CASE("a bent line is found in few questions, and its answer is proved") {
    // Flat, then steep: a straight line from end to end misses the bend by far.
    for (const std::int64_t bend : {2, 100, 4000, 4090}) {
        std::set<std::uint64_t> asked;
        const auto spare = [&](std::uint64_t number) {
            const auto x = static_cast<std::int64_t>(number);
            asked.insert(number);
            return x <= bend ? 5 : 5 - 1000000 * (x - bend);
        };
        const auto found = last_that_fits(1, 4096, spare);
        REQUIRE(found == static_cast<std::uint64_t>(bend));
        CHECK(asked.contains(*found + 1));
        CHECK(asked.size() <= 3 * 12 + 2);
    }
}

TEST_CASE("a refusal is no line to follow") {
    const auto spare = [](std::uint64_t x) { return x < 300 ? 1 : std::numeric_limits<std::int64_t>::min(); };
    CHECK(last_that_fits(1, 1000, spare) == 299);
}

TEST_CASE("the first value that fits is the mirror image") {
    CHECK(first_that_fits(3, 90, [](std::uint64_t x) { return static_cast<std::int64_t>(x) - 41; }) == 41);
    CHECK(first_that_fits(3, 90, [](std::uint64_t) { return 0; }) == 3);
    CHECK(first_that_fits(3, 90, [](std::uint64_t) { return -1; }) == std::nullopt);
}
