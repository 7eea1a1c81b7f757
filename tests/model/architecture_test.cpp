#include "vramfit/model/architecture.hpp"

#include "support/errors.hpp"
#include "support/fixtures.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

using namespace vramfit;
using test::contains;
using test::error_of;
using Json = nlohmann::ordered_json;

namespace {

/// The toy architecture, changed by `edit`, is read.
template <typename Edit>
std::string error_after(Edit edit) {
    Json json = Json::parse(test::toy_json());
    edit(json);
    return error_of([&] { test::parse_architecture(json.dump()); });
}

/// The error of a graph line put in front of the toy's layer.
std::string line_error(const std::string& line) {
    return error_after([&](Json& json) {
        Json& lines = json["graph"]["layer"];
        lines.insert(lines.begin(), line);
    });
}

std::string tensor_error(const std::string& line) {
    return error_after([&](Json& json) { json["tensors"]["layer"].push_back(line); });
}

} // namespace

TEST_CASE("an architecture reads its own file on top of common.json") {
    const auto toy = test::parse_architecture(test::toy_json());
    CHECK(toy->name == "toy");
    CHECK(toy->tensor_templates.size() == 7);
    CHECK(toy->caches.size() == 1);
    CHECK(toy->caches.front().name == "full");
    CHECK_FALSE(toy->graph.layer.empty());
    CHECK(toy->names.find("n_embd")); // of common.json
    CHECK(error_after([](Json&) {}) == "no error");
}

TEST_CASE("a symbol of the file replaces that of common.json") {
    Json json = Json::parse(test::toy_json());
    json["symbols"]["head_k"] = "32";
    json["symbols"]["head_v"] = 32;
    Model model = test::toy_model();
    model.architecture = test::parse_architecture(json.dump());
    model.tensors.clear();
    model.tensor_names.clear();
    instantiate_tensors(model, {});
    CHECK(model.name_of(model.tensors.at(2)) == "attn_q.weight"); // behind token_embd and attn_norm, as in the file
    CHECK(model.tensors.at(2).ne[1] == 4 * 32);
}

TEST_CASE("text that is no JSON: file and line") {
    const std::string error = error_of([] { test::parse_architecture("{\n  \"architecture\": \"toy\",\n  oops\n}"); });
    CHECK(error == "toy.json, line 3: not valid JSON");
}

TEST_CASE("what an architecture must say") {
    CHECK(contains(error_after([](Json& j) { j.erase("architecture"); }), "\"architecture\" is missing"));
    CHECK(error_after([](Json& j) { j.erase("tensors"); }) == "toy.json: \"tensors\" is missing");
    CHECK(error_after([](Json& j) { j["graph"].erase("head"); }) == "toy.json, graph.head is missing");
    CHECK(contains(error_after([](Json& j) { j["tensors"]["layer"] = "x"; }), "toy.json, tensors.layer is not a list"));
    CHECK(contains(error_after([](Json& j) { j["graph"]["head"][0] = 5; }), "toy.json, graph.head line 1 is no text"));
}

TEST_CASE("a mistake in a tensor: file, section, line, column and the line itself") {
    const std::string where = "toy.json, tensors.layer line 6: ";
    CHECK(tensor_error("ffn_up.weight [n_embd, ]") ==
          where + "column 24: a name, a number or '(' expected in \"ffn_up.weight [n_embd, ]\"");
    CHECK(tensor_error("ffn_up.weight n_embd") == where + "column 15: '[' expected in \"ffn_up.weight n_embd\"");
    CHECK(tensor_error("[n_embd]") == where + "column 1: the name of a tensor expected in \"[n_embd]\"");
    CHECK(contains(tensor_error("a [1, 2, 3, 4, 5]"), "a tensor has at most four dimensions"));
    CHECK(contains(tensor_error("a [1] q9_z"), "unknown type 'q9_z'"));
    CHECK(contains(tensor_error("a [1] f32 ! il"), "'! il' is not understood"));
    CHECK(contains(tensor_error("a [1] ? square(il)"), "unknown function 'square'"));
}

TEST_CASE("a mistake in a symbol or cache: file and name") {
    CHECK(error_after([](Json& j) { j["symbols"]["n_x"] = "2 *"; }) ==
          "toy.json, symbol 'n_x': column 4: a name, a number or '(' expected");
    CHECK(error_after([](Json& j) { j["symbols"]["n_x"] = "2 3"; }) ==
          "toy.json, symbol 'n_x': column 3: '3' is not understood");
    CHECK(error_after([](Json& j) { j["symbols"]["n_tokens"] = "2"; }) ==
          "toy.json, symbol 'n_tokens': the name is built in");
    CHECK(error_after([](Json& j) { j["symbols"]["n_x"] = true; }) == "toy.json, symbol 'n_x': no text");
    CHECK(error_after([](Json& j) { j["caches"][0] = "fulll"; }) ==
          "toy.json: no cache 'fulll' in common.json, and no \"layers\" here");
    CHECK(error_after([](Json& j) {
              j["caches"][0] = {{"name", "own"}, {"layers", "1"}, {"k", "n_embd +"}};
          }) == "toy.json, cache 'own' k: column 9: a name, a number or '(' expected");
    CHECK(contains(error_after([](Json& j) {
                       j["refusals"] = {{{"when", "1 +"}, {"message", "no"}}};
                   }),
                   "toy.json, refusal: column 4"));
}

TEST_CASE("a mistake in a graph line: file, section, line, column, symbol and the line itself") {
    const std::string where = "toy.json, graph.layer line 1: ";
    CHECK(line_error("y = ADD n_embd, n_tokens < nowhere x") ==
          where + "column 35: 'nowhere' is not the result of an earlier line in "
                  "\"y = ADD n_embd, n_tokens < nowhere x\"");
    CHECK(contains(line_error("y = ADD n_embd < x @nowhere"), where));
    CHECK(contains(line_error("y = ADD n_embd < x @nowhere"), "no input '@nowhere' is declared"));
    CHECK(contains(line_error("#nowhere"), where + "column 9: no block '#nowhere'"));
    CHECK(contains(line_error("y = ADD < x x"), "ADD needs dimensions"));
    CHECK(contains(line_error("y = ADD 1, 2, 3, 4, 5 < x"), "a tensor has at most four dimensions"));
    CHECK(contains(line_error("y = ADD.q9_z 1 < x"), "unknown type 'q9_z'"));
    CHECK(contains(line_error("y = ADDD 1 < x"), "'ADDD'")); // neither an operation nor an earlier result
    CHECK(contains(line_error("y ADD 1 < x"), "'=' or ':=' expected behind 'y'"));
    CHECK(contains(line_error("= ADD 1 < x"), "a name, '#block' or '@input' expected"));
    CHECK(contains(line_error("y = ADD 1 < x ^"), "a source expected"));
    CHECK(contains(line_error("y = ADD 1 < x %q"), "'%q' is none of %k %v %r %s"));
    CHECK(contains(line_error("y = ADD 1 < x %nowhere.k"), "no cache 'nowhere'"));
    CHECK(contains(line_error("y = ADD 1 < x $"), "the name of a tensor expected"));
    CHECK(contains(line_error("y = VIEW < x | colour=3"), "unknown attribute 'colour'"));
    CHECK(contains(line_error("SET_ROWS x < x"), "a cache ('%k') expected"));
    CHECK(contains(line_error("y = ADD 1 < x ? 1 +"), "a name, a number or '(' expected"));
    CHECK(contains(line_error("y = ADD 1 < x ? il il"), "'il' is not understood"));
}

TEST_CASE("a mistake inside a block is reported where the block stands") {
    const auto with_block = [](const std::vector<std::string>& lines) {
        return error_after([&](Json& j) {
            j["blocks"]["mine"] = lines;
            j["graph"]["layer"].push_back("#mine");
        });
    };
    CHECK(
        contains(with_block({"y = ADD n_embd < x x", "z = ADD n_embd < nowhere"}), "toy.json, block 'mine' line 2: "));
    CHECK(contains(with_block({"#mine"}), "'#mine' contains itself"));
}

TEST_CASE("a graph line with too few sources") {
    const auto error = [](const std::string& line, int column, const std::string& what) {
        CHECK(line_error(line) ==
              "toy.json, graph.layer line 1: column " + std::to_string(column) + ": " + what + " in \"" + line + "\"");
    };
    error("y = VIEW n_embd <", 18, "too few sources");
    error("y = GET_ROWS n_embd, n_outputs <", 33, "too few sources");
    error("y = SET_ROWS n_embd, n_tokens <", 32, "too few sources");
    error("y = LIGHTNING_INDEXER n_kv, n_tokens < x", 41, "too few sources");
    error("y = ADD n_embd, n_tokens < | inplace", 37, "too few sources");
    error("y = VIEW n_embd < $?no_such", 28, "too few sources"); // a weight that may be absent is none to rely on
    error("y = SUM_EXPERTS n_embd, n_tokens < x", 37, "SUM_EXPERTS needs one earlier result and n=");
    error("y = SUM_EXPERTS n_embd, n_tokens < x x | n=2", 45, "SUM_EXPERTS needs one earlier result and n=");
    error("y = SUM_EXPERTS n_embd, n_tokens < $attn_q | n=2", 49, "SUM_EXPERTS needs one earlier result and n=");
}

TEST_CASE("a misspelt part of a file is not taken for one that is left out") {
    CHECK(error_after([](Json& j) { j["refusal"] = Json::array(); }) ==
          "toy.json: unknown key \"refusal\"; did you mean refusals?");
    CHECK(error_after([](Json& j) { j["graph"]["heads"] = Json::array(); }) ==
          "toy.json, graph: unknown key \"heads\"; did you mean head?");
}

TEST_CASE("more than a thousand symbols are refused") {
    const auto with_symbols = [](std::size_t n) {
        return error_after([n](Json& j) {
            j["symbols"] = Json::object();
            for (std::size_t i = 0; i < n; ++i) j["symbols"]["s" + std::to_string(i)] = 1;
        });
    };
    CHECK(with_symbols(900) == "no error"); // and those of common.json that it uses
    CHECK(with_symbols(1001) == "toy.json: more than 1000 symbols");
}

TEST_CASE("a mistake in an input: file and name") {
    const auto with_input = [](const std::string& text) {
        return error_after([&](Json& j) { j["inputs"]["mine"] = text; });
    };
    CHECK(with_input("f32 n_embd") == "no error");
    CHECK(contains(with_input("q9_z n_embd"), "toy.json, input 'mine': "));
    CHECK(contains(with_input("q9_z n_embd"), "unknown type 'q9_z'"));
    CHECK(contains(with_input("f32 n_embd per head"), "'per head' is not understood"));
    CHECK(contains(with_input("f32 n_embd view of nowhere"), "no input '@nowhere' is declared"));
}

TEST_CASE("an architecture that is not bundled is unknown, with near names") {
    CHECK(bundled_architecture("llama")->name == "llama");
    CHECK(error_of([] { bundled_architecture("lama"); }).starts_with("no description of architecture \"lama\""));
    CHECK(contains(error_of([] { bundled_architecture("lama"); }), "llama"));
    CHECK(error_of([] { bundled_architecture("common"); }) != "no error");
    CHECK(error_of([] { bundled_architecture("../models/llama"); }) != "no error");
}
