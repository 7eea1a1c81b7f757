#include "catch.hpp"
#include "cli/commands.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "cli/sample_answers.hpp"
#include "cli/text_table.hpp"
#include "support/errors.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::CommandResult;
using nlohmann::json;
using Args = std::vector<std::string>;
using Errors = std::vector<std::string>;

namespace {

/// No catalogs and stores but those of `environment`.
CommandResult models_in(const Args& args, const Environment& environment) {
    ModelSources sources;
    sources.environment = environment;
    return cli::models_command(args, utf8_pipe(), sources);
}
CommandResult models(const Args& args) { return models_in(args, empty_environment()); }
CommandResult gpus(const Args& args) { return cli::gpus_command(args, utf8_pipe()); }
CommandResult quants(const Args& args) { return cli::quants_command(args, utf8_pipe()); }

std::vector<std::string> ids_of(const CommandResult& result, const char* list, const char* key = "id") {
    std::vector<std::string> ids;
    const json document = json::parse(result.text);
    for (const json& entry : document[list]) ids.push_back(entry[key]);
    return ids;
}

} // namespace

TEST_CASE("models: a table of what matches") {
    const CommandResult result = models({"llama3.2-3b"});
    CHECK(result.exit_code == 0);
    CHECK(result.text == "model        params  context  architecture  licence\n"
                         "llama3.2-3b    3.2B   131072  llama         Llama 3.2 community\n");
}

TEST_CASE("models: id, alias and family match, letter case forgiven") {
    CHECK(ids_of(models({"LLAMA3.2-3B", "--json"}), "models") == Args{"llama3.2-3b"});
    CHECK(ids_of(models({"meta-llama/llama-3.2-3b-instruct", "--json"}), "models") == Args{"llama3.2-3b"});
    CHECK(ids_of(models({"exaone", "--json"}), "models").size() > 1);
}

TEST_CASE("models: those that llama.cpp cannot load are listed with the reason") {
    CHECK(contains(models({"minitron-8b"}).text,
                   "\n    not supported: llama.cpp's nemotron loader fixes the query width"));
    const json listed = json::parse(models({"minitron-8b", "--json"}).text);
    CHECK(listed["models"][0]["unsupported"].is_string());
}

TEST_CASE("gpus: a table of what matches") {
    CHECK(gpus({"rtx4090-laptop"}).text == "GPU             memory      total  vendor  kind\n"
                                           "rtx4090-laptop   16 GB  16376 MiB  nvidia  laptop\n");
    CHECK(ids_of(gpus({"geforce rtx 4090 laptop", "--json"}), "gpus") == Args{"rtx4090-laptop"}); // by its name
    const json apple = json::parse(gpus({"m3-max-64gb", "--json"}).text);
    CHECK(apple["gpus"][0]["unified"] == true);
    CHECK(apple["gpus"][0]["memory"] == 64 * gib);
}

TEST_CASE("quants: bits per weight of a typical model") {
    // 4912898304 bytes for 8030261312 weights.
    CHECK(quants({"q4_k_m"}).text == "type    bits  (per weight, of a typical model)\n"
                                     "Q4_K_M  4.89  4-bit K-quant, half of attn_v and ffn_down in 6 bits\n");
    const json listed = json::parse(quants({"Q4_K_M", "--json"}).text)["quants"];
    CHECK(listed.size() == 1);
    CHECK(listed[0]["bits_per_weight"] == 4.89);
    CHECK(listed[0]["number"] == 15);
    CHECK(ids_of(quants({"--json"}), "quants", "name").size() ==
          35 + 19); // GGUF file types, and formats of checkpoints
}

TEST_CASE("nothing matches: exit code 1, and a word about it beside the output") {
    CHECK(models({"no such"}).exit_code == 1);
    CHECK(models({"no such"}).text.empty());
    CHECK(models({"no such"}).remark == "no model matches \"no such\"");
    CHECK(gpus({"no such"}).remark == "no gpu matches \"no such\"");
    CHECK(quants({"no such", "--json"}).exit_code == 1);
    CHECK(json::parse(quants({"no such", "--json"}).text)["quants"].empty());
}

TEST_CASE("everything there is, in 80 columns and by the schemas") {
    for (const char* const name : {"models", "gpus", "quants"}) {
        INFO(name);
        const auto list = std::string(name) == "models" ? models : std::string(name) == "gpus" ? gpus : quants;
        CHECK(widest_line(list({}).text, cli::display_width) <= 80);
        CHECK(JsonSchema::of_file(name).errors(json::parse(list({"--json"}).text)) == Errors{});
    }
}

TEST_CASE("tables cut their last column at the edge of the screen") {
    const std::string wide(90, 'w');
    const std::string text =
        cli::text_table({{"a"}, {"n", true}, {"b"}}, {{{"x", "1", wide}}, {{"xyz", "22", ""}, "why"}}, utf8_pipe());
    CHECK(text == "a     n  b\nx     1  " + std::string(69, 'w') + "..\nxyz  22\n    why\n");
}

TEST_CASE("listings as tab-separated values and as Markdown") {
    CHECK(gpus({"rtx4090-laptop", "--format", "tsv"}).text ==
          "id\tmemory\ttotal\tname\tvendor\tkind\n"
          "rtx4090-laptop\t17179869184\t17171480576\tNVIDIA GeForce RTX 4090 Laptop GPU\tnvidia\tlaptop\n");
    CHECK(quants({"q4_k_m", "--format", "markdown"}).text ==
          "| type | bits | (per weight, of a typical model) |\n| --- | ---: | --- |\n"
          "| Q4_K_M | 4.89 | 4-bit K-quant, half of attn_v and ffn_down in 6 bits |\n");
    CHECK(contains(models({"llama3.2-3b", "--format", "tsv"}).text,
                   "\nllama3.2-3b\t3212749888\t3212749888\t131072\tllama\t"));
    CHECK(models({"no such", "--format", "tsv"}).text.empty());
}
