#include "catch.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/run.hpp"
#include "cli/sample_answers.hpp"

#include <sstream>

using namespace vramfit;
using namespace vramfit::test;
using Args = std::vector<std::string>;
using Errors = std::vector<std::string>;

namespace {

struct Result {
    int code = -1;
    std::string out, err;
};

/// The whole program, with the library's own answers.
Result run_program(Args args, const Args& more) {
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out;
    std::ostringstream err;
    const int code = cli::run(args, out, err, utf8_pipe(), [](const Request& request) { return solve(request); });
    return {code, out.str(), err.str()};
}

struct Question {
    Args args;
    std::string verdict;
};

// One of each kind: the verdict follows from sizes that leave no doubt.
const std::vector<Question> questions{
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "8192", "-g", "24GB"}, "fit"},
    {{"-m", "llama3.1-8b", "--quant", "f16", "-c", "131072", "-g", "24GB"}, "oom"},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "8192", "-g", "24GB", "-ctv", "q8_0", "-fa", "off"}, "refused"},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "8192", "-g", "24GB", "--margin", "23GB"}, "tight"},
    {{"-m", "gemma3-27b", "--quant", "q4_k_m", "-c", "32k", "-g", "3x24GB", "-np", "4", "-no-kvu"}, "fit"},
    {{"-m", "mamba-2.8b", "--quant", "q8_0", "-g", "rtx4090"}, "fit"},
    {{"-m", "gpt-oss-120b", "--quant", "mxfp4", "-c", "32k", "-g", "24GB", "--cpu-moe"}, "fit"},
    {{"-m", "deepseek-v3-671b", "--quant", "q4_k_m", "-c", "4096", "-g", "24GB"}, "oom"},
};

} // namespace

TEST_CASE("real answers: JSON by the schema, text in 80 columns, exit codes by the verdict") {
    const JsonSchema schema = JsonSchema::of_file("estimate");
    for (const Question& question : questions) {
        INFO(question.args[1] << " " << question.args[3] << " " << question.verdict);
        const Result json = run_program(question.args, {"--json"});
        CHECK(json.err.empty());
        const nlohmann::json document = nlohmann::json::parse(json.out);
        CHECK(schema.errors(document) == Errors{});
        CHECK(document["verdict"] == question.verdict);
        const int expected = question.verdict == "fit" || question.verdict == "tight" ? 0 : 1;
        CHECK(json.code == expected);
        const Result text = run_program(question.args, {"--explain"});
        CHECK(text.code == expected);
        CHECK(widest_line(text.out, cli::display_width) <= 80);
    }
}

TEST_CASE("real answers: what cannot be answered is one line") {
    const Args start{"-c", "8192", "-g", "24GB"};
    for (const Args& args : {Args{"-m", "llama3.1-8c", "--quant", "q4_k_m"}, Args{"-m", "llama3.1-8b", "--quant", "q9"},
                             Args{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-g", "rtx9999"},
                             Args{"-m", "glm-5.3-flash", "--quant", "q4_k_m"}}) {
        const Result result = run_program(start, args);
        INFO(result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err.rfind("vramfit: ", 0) == 0);
        CHECK(result.err.find('\n') == result.err.size() - 1);
    }
}
