#include "vramfit/model/expression.hpp"

#include "support/errors.hpp"
#include "support/fixtures.hpp"
#include "vramfit/model/evaluator.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

#include <limits>

using namespace vramfit;
using test::error_of;

namespace {

const nlohmann::json no_graph = {
    {"pre", nlohmann::json::array()}, {"layer", nlohmann::json::array()}, {"head", nlohmann::json::array()}};

/// A model of four blocks, the last an MTP block, for whose layer `il` an expression is worked out.
double value(const std::string& text, int il = 0) {
    const nlohmann::json architecture = {
        {"architecture", "toy"},
        {"symbols", {{"result", text}, {"twice", "2 * n"}, {"odd", "il % 2"}}},
        {"tensors", {{"output", {"out.weight [1]"}}, {"layer", {"w.weight [1] ? il == 1", "b.bias? [1]"}}}},
        {"graph", no_graph}};
    Model model;
    model.id = "toy";
    model.architecture = Architecture::parse(architecture.dump(), "{}", "toy.json");
    model.hparams.set("block_count", 4);
    model.hparams.set("nextn_predict_layers", 1);
    model.hparams.set("n", 5);
    model.hparams.set("by.layer", Hparams::Value{7, 8, 9, 10});
    model.hparams.set("short", Hparams::Value{1, 2});
    instantiate_tensors(model, {});
    Evaluator evaluator(model);
    evaluator.set(Builtin::n_tokens, 512);
    evaluator.enter_layer(il);
    return evaluator.value_or("result", -1);
}

std::string parse_error(const std::string& text) {
    NameTable names;
    NameTable tensors;
    return error_of([&] { ExpressionParser(text, names, tensors).parse(); });
}

} // namespace

TEST_CASE("whole-number arithmetic with the usual precedence") {
    CHECK(value("1 + 2 * 3") == 7);
    CHECK(value("(1 + 2) * 3") == 9);
    CHECK(value("10 - 3 - 2") == 5);
    CHECK(value("100 / 10 / 2") == 5);
    CHECK(value("7 / 2") == 3); // rounds down
    CHECK(value("-7 / 2") == -4);
    CHECK(value("7 % 4") == 3);
    CHECK(value("-1 % 4") == 3);
    CHECK(value("2 * -3") == -6);
    CHECK(value("- - 3") == 3);
    CHECK(value("9007199254740991 + 1") == 9007199254740992.0);
}

TEST_CASE("comparisons and logic give 0 and 1, and bind weaker than sums") {
    CHECK(value("1 + 1 == 2") == 1);
    CHECK(value("1 != 1") == 0);
    CHECK(value("2 <= 2") == 1);
    CHECK(value("2 < 2") == 0);
    CHECK(value("3 >= 4") == 0);
    CHECK(value("4 > 3") == 1);
    CHECK(value("5 && 7") == 1);
    CHECK(value("0 || 7") == 1);
    CHECK(value("0 || 0") == 0);
    CHECK(value("!0") == 1);
    CHECK(value("!5") == 0);
    CHECK(value("!1 == 0") == 1);      // (!1) == 0
    CHECK(value("1 || 0 && 0") == 1);  // && binds stronger
    CHECK(value("0 && nowhere") == 0); // the right side is not looked at
    CHECK(value("1 || nowhere") == 1);
}

TEST_CASE("the conditional operator is lazy and nests to the right") {
    CHECK(value("1 ? 2 : 3") == 2);
    CHECK(value("0 ? 2 : 3") == 3);
    CHECK(value("0 ? 1 : 0 ? 2 : 3") == 3);
    CHECK(value("1 < 2 ? 4 + 1 : 6") == 5);
    CHECK(value("1 ? 2 : nowhere") == 2);
    CHECK(value("0 ? nowhere : 2") == 2);
}

TEST_CASE("names: symbols, built-ins, hyperparameters by layer, and what stands in for a missing one") {
    CHECK(value("n") == 5);
    CHECK(value("twice + 1") == 11);
    CHECK(value("n_tokens") == 512);
    CHECK(value("by.layer", 2) == 9);
    CHECK(value("nowhere ?? 3") == 3);
    CHECK(value("n ?? 3") == 5);
    CHECK(value("nowhere ?? n * 2") == 10); // (nowhere ?? n) * 2
    CHECK(value("nowhere ?? (n * 2)") == 10);
    CHECK(value("nowhere ?? nothing ?? 4") == 4);
    CHECK(value("short ?? 3", 1) == 2);
    CHECK(value("il", 3) == 3);
    CHECK(value("first") == 1);
    CHECK(value("first", 1) == 0);
    CHECK(value("last", 2) == 1); // the MTP block is behind the last layer
    CHECK(value("last", 3) == 0);
}

TEST_CASE("functions") {
    CHECK(value("min(3, 4)") == 3);
    CHECK(value("max(3, 4)") == 4);
    CHECK(value("max(min(1, 2), 0 ? 1 : 3)") == 3);
    CHECK(value("pad(1, 256)") == 256);
    CHECK(value("pad(256, 256)") == 256);
    CHECK(value("pad(257, 256)") == 512);
    CHECK(value("pad(0, 256)") == 0);
    CHECK(value("key(n)") == 1);
    CHECK(value("key(nowhere)") == 0);
    CHECK(value("has(w.weight)") == 0);
    CHECK(value("has(w)", 1) == 1); // ".weight" is understood
    CHECK(value("has(out)", 2) == 1);
    CHECK(value("has(b.bias)") == 0); // optional, and the model lacks it
    CHECK(value("has(never)") == 0);
    CHECK(value("next(il)") == 1);
    CHECK(value("next(by.layer)", 1) == 9);
    CHECK(value("next(7)", 2) == 0); // behind the last layer
    CHECK(value("next(next(il))") == 2);
    CHECK(value("layers_max(by.layer)") == 10);
    CHECK(value("layers_sum(by.layer)", 3) == 34);
    CHECK(value("layers_sum(odd)") == 2);
    CHECK(value("layers_sum(1) + il", 2) == 6); // the layer is as before
}

TEST_CASE("a mistake in an expression names its column and what would be right") {
    CHECK(parse_error("") == "column 1: a name, a number or '(' expected");
    CHECK(parse_error("1 +") == "column 4: a name, a number or '(' expected");
    CHECK(parse_error("1 + * 2") == "column 5: a name, a number or '(' expected");
    CHECK(parse_error("(1 + 2") == "column 7: ')' expected");
    CHECK(parse_error("a ? 1") == "column 6: ':' expected");
    CHECK(parse_error("min(1)") == "column 6: ',' expected");
    CHECK(parse_error("pad(1, 2") == "column 9: ')' expected");
    CHECK(parse_error("square(2)") == "column 8: unknown function 'square'");
    CHECK(test::contains(parse_error(std::string(100, '(') + "1" + std::string(100, ')')), "too deeply nested"));
    CHECK(test::contains(parse_error(std::string(100, '!') + "1"), "too deeply nested"));
    CHECK(parse_error("a ? b : c") == "no error");
}

TEST_CASE("a dimension ends where a comparison would begin") {
    NameTable names;
    NameTable tensors;
    ExpressionParser in("n * 2 < x", names, tensors);
    CHECK_FALSE(in.parse_dimension().empty());
    CHECK(in.rest() == "< x");
    CHECK_FALSE(in.at_end());
    CHECK(in.accept("<"));
    CHECK(in.word() == "x");
    CHECK(in.at_end());
}

TEST_CASE("a mistake that only shows with a model names the symbol") {
    CHECK(error_of([] { value("nowhere + 1"); }) ==
          "toy has no hyperparameter 'nowhere', which architecture toy needs");
    CHECK(error_of([] { value("short", 2); }) == "hyperparameter 'short' of toy has no element for layer 2");
    CHECK(error_of([] { value("1 / (n - 5)"); }) == "a division by zero in architecture toy for toy");
    CHECK(error_of([] { value("1 % 0"); }) == "a division by zero in architecture toy for toy");
    CHECK(error_of([] { value("pad(1, 0)"); }) == "a division by zero in architecture toy for toy");
    CHECK(error_of([] { value("result + 1"); }) == "symbol 'result' of architecture toy needs itself");
}

TEST_CASE("symbols that need each other are an Error that names one of them, whatever stands between") {
    const auto error = [](const nlohmann::json& symbols) {
        return error_of([&] {
            const nlohmann::json architecture = {{"architecture", "toy"},
                                                 {"symbols", symbols},
                                                 {"tensors", {{"layer", {"w.weight [a]"}}}},
                                                 {"graph", no_graph}};
            Model model;
            model.id = "toy";
            model.architecture = Architecture::parse(architecture.dump(), "{}", "toy.json");
            model.hparams.set("block_count", 4);
            instantiate_tensors(model, {});
        });
    };
    const std::string itself = "symbol 'a' of architecture toy needs itself";
    CHECK(error({{"a", "1"}}) == "no error");
    CHECK(error({{"a", "b + 1"}, {"b", "a"}}) == itself);
    CHECK(error({{"a", "layers_max(b)"}, {"b", "layers_sum(a)"}}) == itself);
    CHECK(error({{"a", "next(a)"}}) == itself);
    CHECK(error({{"a", "1 ? 2 : a"}}) == itself); // even where it would never be worked out
    CHECK(error({{"a", "x ?? (a + 1)"}}) == itself);
}

TEST_CASE("an evaluator that failed is as good as new") {
    Model model = test::toy_model();
    Evaluator evaluator(model);
    Evaluator untouched(model);
    const auto parsed = [&](const std::string& text) {
        NameTable names = model.architecture->names;
        NameTable tensors = model.architecture->tensors;
        ExpressionParser in(text, names, tensors);
        return in.parse();
    };
    evaluator.enter_layer(0);
    untouched.enter_layer(0);
    const Expression fails = parsed("layers_sum(1 / (1 - il)) + n_embd"); // in layer 1
    const Expression good = parsed("n_embd * 10 + layers_sum(il + 1) + next(il + 1)");
    for (int i = 0; i < 200; ++i) {
        REQUIRE(error_of([&] { evaluator.eval(fails); }) == "a division by zero in architecture toy for toy-0.7m");
    }
    evaluator.enter_layer(0);
    CHECK(evaluator.eval(good) == 2560 + (1 + 2) + 2);
    CHECK(untouched.eval(good) == 2560 + (1 + 2) + 2);
}

TEST_CASE("a count is a whole number from 0 to 2^53") {
    CHECK(to_count(0, "n") == 0);
    CHECK(to_count(9007199254740992.0, "n") == 9007199254740992ULL);
    CHECK(error_of([] { to_count(-1, "the rows"); }) == "the rows is not a count: -1.000000");
    CHECK(error_of([] { to_count(1.5, "the rows"); }) == "the rows is not a count: 1.500000");
    CHECK(error_of([] { to_count(9007199254740994.0, "n"); }) != "no error");
    CHECK(error_of([] { to_count(std::numeric_limits<double>::quiet_NaN(), "n"); }) != "no error");
    CHECK(error_of([] { to_count(std::numeric_limits<double>::infinity(), "n"); }) != "no error");
}

TEST_CASE("a name table gives a name one number") {
    NameTable names;
    CHECK(names.intern("a") == 0);
    CHECK(names.intern("b") == 1);
    CHECK(names.intern("a") == 0);
    CHECK(names.size() == 2);
    CHECK(names.at(1) == "b");
    CHECK(names.find("b") == 1u);
    CHECK_FALSE(names.find("c"));
}
