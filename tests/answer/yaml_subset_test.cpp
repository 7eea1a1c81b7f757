#include "answer/check/yaml_subset.hpp"

#include "catch.hpp"
#include "support/errors.hpp"

using namespace vramfit;

namespace {

/// One line that shows the structure: {a: "x", b: ["y"]}.
std::string shown(const YamlNode& node) {
    std::string text;
    switch (node.kind) {
    case YamlNode::Kind::null: return "null";
    case YamlNode::Kind::scalar: return '"' + node.text + '"';
    case YamlNode::Kind::list:
        for (const auto& item : node.items) text += (text.empty() ? "" : ", ") + shown(*item);
        return "[" + text + "]";
    case YamlNode::Kind::map: break;
    }
    for (const auto& [key, value] : node.entries) text += (text.empty() ? "" : ", ") + key + ": " + shown(*value);
    return "{" + text + "}";
}

std::string read(const std::string& text) { return shown(*parse_yaml(text)); }

std::string error(const std::string& text) {
    return test::error_of([&] { parse_yaml(text); });
}

} // namespace

TEST_CASE("mappings and sequences in blocks") {
    CHECK(read("a: 1\nb:\n  c: x y\n  d:\n    - one\n    - two # no\ne:\n- f: 1\n  g: 2\n-\n  h\n") ==
          R"({a: "1", b: {c: "x y", d: ["one", "two"]}, e: [{f: "1", g: "2"}, "h"]})");
    CHECK(read("---\n# a comment\n- - a\n  - b\n- --port\n- \"--x\"\n") == R"([["a", "b"], "--port", "--x"])");
    CHECK(read("a:\nb: ~\nc: http://x:80/#y\n'd e': f\n") == R"({a: null, b: "~", c: "http://x:80/#y", d e: "f"})");
    CHECK(read("") == "null");
}

TEST_CASE("scalars over several lines") {
    CHECK(read("a: |\n  one\n    two\n\n  three\nb: >-\n  x\n  y\n") == "{a: \"one\n  two\n\nthree\n\", b: \"x y\"}");
    CHECK(read("a: one\n  two\nb: \"x\n  y\"\n") == R"({a: "one two", b: "x y"})");
    CHECK(read(R"(a: 'it''s' # no
b: "t\"a\\b\tc")") == "{a: \"it's\", b: \"t\"a\\b\tc\"}");
}

TEST_CASE("flow style") {
    CHECK(read("a: [1, \"b, c\", 'd', {e: f, g: [h]}]\nb: {}\nc: [\n  x,\n  y, # no\n]\n") ==
          R"({a: ["1", "b, c", "d", {e: "f", g: ["h"]}], b: {}, c: ["x", "y"]})");
    CHECK(read("[\"--model\", \"x\"]") == R"(["--model", "x"])");
}

TEST_CASE("anchors, aliases and merge keys") {
    const auto root = parse_yaml("base: &b\n  image: x\n  env: 1\none:\n  <<: *b\n  env: 2\ntwo:\n  <<: [*b]\n");
    CHECK(root->find("one")->text_of("image") == "x");
    CHECK(root->find("one")->text_of("env") == "2");
    CHECK(root->find("two")->text_of("env") == "1");
    CHECK(root->find("two")->find("nothing") == nullptr);
    CHECK(root->find("one")->line == 5);
}

TEST_CASE("what is no YAML of this kind says where") {
    CHECK(error("a: 1\nb\n") == "line 2: a key and a colon would be right, not \"b\"");
    CHECK(error("a:\n  b: 1\n    c: 2\n") == "line 3: this is further to the right than what it belongs to");
    CHECK(error("a: [1, 2\n") == "line 1: a bracket is not closed");
    CHECK(error("a: \"x\n") == "line 1: a quote is not closed");
    CHECK(error("a: *b\n") == "line 1: unknown alias \"b\"");
    CHECK(error("a:\n\tb: 1\n") == "line 2: YAML is indented by blanks, not by tabs");
    CHECK(error(std::string(70, '[')) == "line 1: nested too deeply");
    CHECK(error(std::string(2000000, 'x')) == "YAML of more than 1 MiB");
}

TEST_CASE("merges of merges end") {
    std::string text = "a0: &a0\n  x: 1\n";
    for (int i = 1; i < 40; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + "\n  <<: [" + before + ", " + before + "]\n";
    }
    CHECK(parse_yaml(text)->find("a39")->find("y") == nullptr);
}

TEST_CASE("a large map that is merged many times is no bomb") {
    std::string text = "all: &all\n";
    for (int i = 0; i < 1000; ++i) text += "  k" + std::to_string(i) + ": v\n";
    text += "one: {<<: [";
    for (int i = 0; i < 900; ++i) text += "*all, ";
    text += "*all]}\n";
    const auto root = parse_yaml(text);
    const YamlNode::Entries entries = root->find("one")->all_entries();
    CHECK(entries.size() >= 1000);
    CHECK(entries.size() < 110'000); // and not 901 times 1000
}
