#include "vramfit/base/names.hpp"

#include "catch.hpp"

using vramfit::normalize_name;

TEST_CASE("spellings of a name that differ in case and separators are the same") {
    CHECK(normalize_name("Llama-3.1:8B") == "llama318b");
    CHECK(normalize_name("llama3.1-8b") == "llama318b");
    CHECK(normalize_name("RTX 4090") == normalize_name("rtx_4090"));
}

TEST_CASE("owner and variant stay part of a name") {
    CHECK(normalize_name("meta-llama/Llama-3.1-8B") == "metallama/llama318b");
    CHECK(normalize_name("glm-4.5+mtp") == "glm45+mtp");
}

TEST_CASE("letters outside of ASCII are left alone") {
    CHECK(normalize_name("\xc3\x84-B") == "\xc3\x84"
                                          "b");
    CHECK(normalize_name("-_.: ").empty());
}
