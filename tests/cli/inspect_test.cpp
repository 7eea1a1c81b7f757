#include "catch.hpp"
#include "cli/commands.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/sample_answers.hpp"
#include "support/errors.hpp"
#include "support/ollama_folder.hpp"

#include <filesystem>

using namespace vramfit;
using namespace vramfit::test;
using cli::CommandResult;
using nlohmann::json;
using Args = std::vector<std::string>;
using Errors = std::vector<std::string>;

namespace {

CommandResult inspect_with(const Args& args, const Environment& environment = empty_environment()) {
    ModelSources sources;
    sources.environment = environment;
    return cli::inspect_command(args, utf8_pipe(), sources);
}

CommandResult models_with(const Args& args, const Environment& environment) {
    ModelSources sources;
    sources.environment = environment;
    return cli::models_command(args, utf8_pipe(), sources);
}

} // namespace

TEST_CASE("inspect: a model for a person", "[inspect]") {
    // K and V: 2 x 32 layers x 8 heads x 128 elements = 65536 a token, in f32 four bytes each.
    const std::string text = inspect_with({"llama3.1-8b", "--quant", "q4_k_m"}).text;
    CHECK(text.find("llama3.1-8b\n  architecture llama, 8.0B parameters in 292 tensors, 4.6 GiB as Q4_K_M\n") == 0);
    CHECK(contains(text, " n_head_kv 8, "));
    CHECK(contains(text, "\n      32 × full\n"));
    CHECK(contains(text, "\n    attention       160 tensors    1.3B      737.00 MiB  q4_K, q6_K, f32\n"));
    CHECK(contains(text, "\n    type     bytes/token         at 131072\n    f32           262144          32.0 GiB\n"));
    CHECK(contains(text, "\n    q8_0           69632           8.5 GiB\n"));
}

TEST_CASE("inspect: 80 columns and the schema hold for every kind of model", "[inspect]") {
    for (const char* const id : {"llama3.1-8b", "gemma3n-e4b", "deepseek-v3-671b", "jamba-mini-1.5-52b", "phi-2",
                                 "qwen3-next-80b-a3b+mtp", "deepseek-v3.2-685b+mtp", "gpt2"}) {
        INFO(id);
        CHECK(widest_line(inspect_with({id}).text, cli::display_width) <= 80);
        CHECK(JsonSchema::of_file("inspect").errors(json::parse(inspect_with({id, "--json"}).text)) == Errors{});
    }
}

TEST_CASE("inspect: an entry for a catalog, which then knows the model", "[inspect]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "small.gguf");
    const std::string entry = inspect_with({folder.file("small.gguf"), "--as-catalog"}).text;
    write_text(folder.path() / "own.json", entry);
    const std::string id = json::parse(entry)["id"];
    const json again = json::parse(inspect_with({id, "--catalog", folder.file("own.json"), "--json"}).text);
    const json file = json::parse(inspect_with({folder.file("small.gguf"), "--json"}).text);
    CHECK(again["model"]["source"] == "catalog");
    CHECK(again["model"]["parameters"] == file["model"]["parameters"]);
    CHECK(again["shape"] == file["shape"]);
    CHECK(again["caches"] == file["caches"]);
    CHECK(again["layers"] == file["layers"]);
}

TEST_CASE("inspect: what Ollama's store says of a model", "[inspect]") {
    const OllamaFolder store;
    store.add_small();
    const CommandResult result = inspect_with({"--model", "ollama:small:q8", "--json"}, store.environment());
    const json shown = json::parse(result.text);
    CHECK(JsonSchema::of_file("inspect").errors(shown) == Errors{});
    CHECK(shown["model"]["id"] == "small:q8");
    CHECK(shown["model"]["n_ctx"] == 2048);
    CHECK(shown["model"]["projector"] == store.blob(3).string());
    CHECK(contains(inspect_with({"ollama:small:q8"}, store.environment()).text,
                   "its own settings ask for a context of 2048 tokens"));
}

TEST_CASE("inspect: questions that have no answer", "[inspect]") {
    CHECK(error_of([] { inspect_with({}); }) == "give a model, such as vramfit inspect llama3.1-8b");
    CHECK(error_of([] { inspect_with({"a", "b"}); }) == "unexpected argument \"b\"; give one model");
    CHECK(contains(error_of([] { inspect_with({"lama3.1-8b"}); }),
                   "unknown model \"lama3.1-8b\"; did you mean llama3.1"));
    CHECK(contains(error_of([] { inspect_with({"qwen3-8b", "--as-catalog", "--json"}); }), "leave --json out"));
    CHECK(contains(error_of([] {
                       inspect_with({"qwen3-8b", "--as-catalog", "--quant", "q8_0"});
                   }),
                   "leave --quant out"));
    CHECK(contains(error_of([] { inspect_with({"qwen3-8b", "--quant", "q9"}); }), "q9"));
}

TEST_CASE("models --installed: names to ask with", "[inspect]") {
    const OllamaFolder store;
    store.add_small();
    const TempFolder cache;
    const std::string path = cache.file("Model-Q4_K_M.gguf");
    write_small_gguf(path);
    const Environment environment =
        variables({{"OLLAMA_MODELS", store.path().string()}, {"LLAMA_CACHE", cache.path().string()}});
    const CommandResult result = models_with({"--installed"}, environment);
    CHECK(result.exit_code == 0);
    CHECK(contains(result.text, "  ollama:small:q8\n"));
    CHECK(contains(result.text, "  Model-Q4_K_M.gguf\n    " + path + "\n"));
    const json listed = json::parse(models_with({"--installed", "--json"}, environment).text);
    CHECK(JsonSchema::of_file("installed").errors(listed) == Errors{});
    CHECK(listed["installed"].size() == 2);
    CHECK(models_with({"--installed", "SMALL"}, environment).exit_code == 0);
    CHECK(models_with({"--installed", "nothing"}, environment).exit_code == 1);
    const TempFolder empty;
    CHECK(models_with({"--installed"}, variables({{"OLLAMA_MODELS", empty.path().string()}})).remark ==
          "no model of Ollama, LM Studio, llama.cpp or Hugging Face is installed");
}

TEST_CASE("models: own catalogs are listed first", "[inspect]") {
    const TempFolder folder;
    write_text(folder.path() / "own.json", small_entry("zz-own"));
    const json listed =
        json::parse(models_with({"--catalog", folder.file("own.json"), "--json"}, empty_environment()).text);
    CHECK(listed["models"][0]["id"] == "zz-own");
    CHECK(JsonSchema::of_file("models").errors(listed) == Errors{});
}
