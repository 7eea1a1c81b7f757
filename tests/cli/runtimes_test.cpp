#include "catch.hpp"
#include "cli/commands.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/sample_answers.hpp"
#include "support/errors.hpp"

#include <sstream>

using namespace vramfit;
using namespace vramfit::test;
using cli::CommandResult;
using nlohmann::json;

namespace {

CommandResult runtimes_of(const std::vector<std::string>& args) { return cli::runtimes_command(args, utf8_pipe()); }

bool is_narrow(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (cli::display_width(line) > cli::screen_width) return false;
    return true;
}

} // namespace

TEST_CASE("runtimes: a row for each, with the context that it takes by itself") {
    const CommandResult all = runtimes_of({});
    CHECK(all.exit_code == 0);
    CHECK(is_narrow(all.text));
    CHECK(contains(all.text, "\nollama "));
    CHECK(contains(all.text, "262144/32768/4096"));
    CHECK(contains(all.text, "\nkoboldcpp "));
    CHECK(runtimes_of({"no such thing"}).exit_code == 1);
    CHECK(runtimes_of({"no such thing"}).remark == "no runtime matches \"no such thing\"");
}

TEST_CASE("runtimes NAME: the rules of one, each with its source") {
    const CommandResult ollama = runtimes_of({"ollama"});
    CHECK(ollama.exit_code == 0);
    CHECK(is_narrow(ollama.text));
    CHECK(contains(ollama.text, "262144 from 47.0 GiB, 32768 from 23.0 GiB, 4096 below"));
    CHECK(contains(ollama.text, "server/routes.go"));
    CHECK(contains(ollama.text, "OLLAMA_CONTEXT_LENGTH="));
    CHECK(contains(ollama.text, "/set parameter num_gpu"));
    CHECK(contains(runtimes_of({"lms"}).text, "LM Studio (lmstudio)")); // by an alias, too
    for (const char* name : {"llama.cpp", "llama-cli", "lmstudio", "koboldcpp"}) {
        INFO(name);
        CHECK(is_narrow(runtimes_of({name}).text));
    }
}

TEST_CASE("runtimes as JSON keep to their schema") {
    const JsonSchema schema = JsonSchema::of_file("runtimes");
    const json all = json::parse(runtimes_of({"--json"}).text);
    CHECK(schema.errors(all).empty());
    CHECK(all["runtimes"].size() >= 5);
    const json one = json::parse(runtimes_of({"ollama", "--json"}).text);
    CHECK(schema.errors(one).empty());
    REQUIRE(one["runtimes"].size() == 1);
    CHECK(one["runtimes"][0]["context_per_slot"] == true);
    CHECK(one["runtimes"][0]["default_context"][1]["n_ctx"] == 32768);
    CHECK(one["runtimes"][0]["settings"]["n_ctx"] == "OLLAMA_CONTEXT_LENGTH=");
}
