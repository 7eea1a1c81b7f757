#include "catch.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/run.hpp"
#include "cli/sample_answers.hpp"
#include "support/text_stream.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

using namespace vramfit;
using namespace vramfit::test;
using Args = std::vector<std::string>;

namespace {

struct Result {
    int code = -1;
    std::string out, err;
};

Result check(const std::string& input, const Args& more) {
    Args args{"check"};
    args.insert(args.end(), more.begin(), more.end());
    ModelSources sources;
    sources.environment = empty_environment();
    TextStream stream{input};
    sources.standard_input = stream.stream();
    std::ostringstream out;
    std::ostringstream err;
    const int code = cli::run(
        args, out, err, utf8_pipe(), [](const Request& r) { return answer(r); }, sources);
    return {code, out.str(), err.str()};
}

const std::string good = R"({"name": "chat", "model": "llama3.1-8b", "quant": "q4_k_m", "ctx": 8192, "gpu": "24GB"})";
const std::string bad = R"({"model": "llama3.3-70b", "quant": "q4_k_m", "ctx": 8192, "gpu": "24GB"})";
const std::string unknown = R"({"model": "no-such-model", "quant": "q4_k_m", "gpu": "24GB"})";

} // namespace

TEST_CASE("check: exit codes by the worst deployment") {
    CHECK(check(good, {}).code == 0);
    CHECK(check(good + "\n" + bad, {}).code == 1);
    CHECK(check(good + "\n" + bad + "\n" + unknown, {}).code == 2);
    CHECK(check(good, {"--margin", "23GB"}).code == 0);
    CHECK(check(good, {"--margin", "23GB", "--strict"}).code == 1);
    CHECK(check("nothing", {}).code == 2);
    CHECK(check("nothing", {}).out.empty());
    CHECK(check(good, {"--gpu", "4GB", "--quiet"}).code == 1); // the command line wins
    CHECK(check(good, {"--quiet"}).out.empty());
}

TEST_CASE("check: a row a deployment, in 80 columns") {
    const Result result = check(good + "\n" + bad + "\n" + unknown, {});
    std::istringstream lines(result.out);
    std::string line;
    while (std::getline(lines, line)) CHECK(cli::display_width(line) <= 80);
    CHECK(result.out.find("-:1") != std::string::npos);
    CHECK(result.out.find("llama3.1-8b") != std::string::npos);
    CHECK(result.out.find("chat") != std::string::npos);
    CHECK(result.err.starts_with("vramfit: 1 of 3 deployments could not be checked: -:3: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("check: JSON by its schema") {
    const JsonSchema schema = JsonSchema::of_file("check");
    for (const std::string& input : {good, good + "\n" + bad + "\n" + unknown}) {
        const auto document = nlohmann::json::parse(check(input, {"--json"}).out);
        CHECK(schema.errors(document) == Args{});
    }
    const auto rows = nlohmann::json::parse(check(good + "\n" + bad + "\n" + unknown, {"--json"}).out)["deployments"];
    CHECK(rows[0]["verdict"] == "fit");
    CHECK(rows[0]["name"] == "chat");
    CHECK(rows[0]["n_ctx"] == 8192);
    CHECK(rows[1]["verdict"] == "oom");
    CHECK(rows[1]["line"] == 2);
    CHECK(rows[2]["verdict"] == "error");
}

TEST_CASE("check: annotations of GitHub") {
    const std::string out = check(good + "\n" + bad + "\n" + unknown, {"--format", "github"}).out;
    CHECK(out.starts_with("::notice file=-,line=1::chat: llama3.1-8b Q4_K_M, context 8192 on 24GB: fit, "));
    CHECK(out.find("\n::error file=-,line=2::llama3.3-70b") != std::string::npos);
    CHECK(out.find("\n::error file=-,line=3::") != std::string::npos);
    CHECK(check(good, {"--format", "github", "--margin", "23GB"}).out.starts_with("::warning "));
    CHECK(check(good, {"--format", "github", "--margin", "23GB", "--strict"}).out.starts_with("::error "));
    CHECK(check(good, {"--format", "xml"}).err == "vramfit: --format must be text, json or github, not \"xml\"\n");
}

TEST_CASE("check has its help") {
    CHECK(check("", {"--help"}).out.find("vramfit check compose.yaml --gpu 24GB") != std::string::npos);
}

TEST_CASE("check: a server without a model is no error, and no answer") {
    const std::string server = "[Service]\nExecStart=/usr/local/bin/ollama serve\n";
    const std::string model = "ExecStart=llama-server -hf x/Llama-3.1-8B-GGUF:Q4_K_M -c 8192 -ngl 99\n";
    const Result both = check(server + model, {"--gpu", "24GB", "--json"});
    CHECK(both.code == 0);
    const auto document = nlohmann::json::parse(both.out);
    CHECK(JsonSchema::of_file("check").errors(document).empty());
    CHECK(document["deployments"][0]["verdict"] == "none");
    CHECK(document["deployments"][0]["error"].is_null());
    CHECK(document["deployments"][1]["verdict"] == "fit");
    const Result alone = check(server, {"--gpu", "24GB"});
    CHECK(alone.code == 2);
    CHECK(alone.err.find("no deployment names a model") != std::string::npos);
    CHECK(check(server, {"--gpu", "24GB", "-m", "llama3.1-8b", "--quant", "q4_k_m"}).code == 0);
}
