#include "catch.hpp"
#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"

using namespace vramfit;
using namespace vramfit::cli;

TEST_CASE("width counts characters, not bytes or colour codes") {
    CHECK(display_width("KV cache") == 8);
    CHECK(display_width("\u2588\u2588\u258c") == 3);
    CHECK(display_width("\033[1;32mFIT\033[0m") == 3);
    CHECK(pad_right("\u2588", 3) == "\u2588  ");
    CHECK(pad_left("\u2588", 3) == "  \u2588");
    CHECK(pad_left("long", 2) == "long");
}

TEST_CASE("two texts at the edges of a line") {
    CHECK(edges("left", "right", 12) == "left   right\n");
    CHECK(edges("left", "right", 11) == "left  right\n");
    CHECK(edges("left", "right", 10) == "left\n     right\n");
}

TEST_CASE("text is broken between words and indented") {
    const std::string word(35, 'w');
    CHECK(wrapped("note: ", "short") == "note: short\n");
    CHECK(wrapped("note: ", word + " " + word + " x") == "note: " + word + " " + word + " x\n");   // 79 columns
    CHECK(wrapped("note: ", word + " " + word + " xy") == "note: " + word + " " + word + " xy\n"); // 80
    CHECK(wrapped("note: ", word + " " + word + " xyz") == "note: " + word + " " + word + "\n      xyz\n");
    CHECK(wrapped("run: ", word + " " + word + " xyz", " \\") == "run: " + word + " " + word + " \\\n     xyz\n");
    CHECK(wrapped("  ", std::string(100, 'x')) == "  " + std::string(100, 'x') + "\n");
    CHECK(wrapped("a: ", std::vector<std::string>{"b c", "d"}) == "a: b c d\n");
}

TEST_CASE("an option stays with its value") {
    using Words = std::vector<std::string>;
    CHECK(with_values(words_of("llama-server -m MODEL.gguf  -fa -kvu -ts 3,1 x")) ==
          Words{"llama-server", "-m MODEL.gguf", "-fa", "-kvu", "-ts 3,1", "x"});
}

TEST_CASE("sizes beside each other are GiB unless that would be nothing") {
    CHECK(size_text(0) == "0.0 GiB");
    CHECK(size_text(9 * gib + 205 * mib) == "9.2 GiB");
    CHECK(size_text(103 * mib) == "0.1 GiB");
    CHECK(size_text(102 * mib) == "102 MiB");
    CHECK(size_text(12 * kib) == "12 KiB");
    CHECK(size_text(256) == "256 B");
    CHECK(size_text(2048 * gib) == "2048.0 GiB");
}

TEST_CASE("a part of a size") {
    CHECK(part_of_text(9 * gib, 24 * gib) == "9.0 of 24.0 GiB");
    CHECK(part_of_text(50 * mib, 24 * gib) == "50 MiB of 24.0 GiB");
}

TEST_CASE("numbers of parameters") {
    CHECK(parameters_text(8030261312) == "8.0B");
    CHECK(parameters_text(1235814432) == "1.2B");
    CHECK(parameters_text(494032768) == "494M");
    CHECK(parameters_text(116829156672) == "117B");
    CHECK(parameters_text(1026000000000) == "1.0T");
    CHECK(parameters_text(999600000) == "1.0B");
    CHECK(parameters_text(64) == "64");
}
