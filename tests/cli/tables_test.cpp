#include "catch.hpp"
#include "cli/json_schema.hpp"
#include "cli/layout.hpp"
#include "cli/run.hpp"
#include "cli/sample_answers.hpp"
#include "support/errors.hpp"

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

/// The whole program, with what the library finds.
Result run_program(Args args, const Args& more = {}) {
    args.insert(args.end(), more.begin(), more.end());
    std::ostringstream out;
    std::ostringstream err;
    const int code = cli::run(args, out, err, utf8_pipe(), [](const Request& request) { return solve(request); });
    return {code, out.str(), err.str()};
}

std::size_t n_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct Question {
    Args args;
    std::string kind;
    int code;
};

// Every row of the list of what may be left open.
const std::vector<Question> questions{
    {{"-m", "llama3.1-8b"}, "quant_ctx", 0},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m"}, "quant_ctx", 0},
    {{"-m", "llama3.1-8b", "-c", "8k"}, "quant", 0},
    {{"-m", "llama3.1-8b", "-g", "12GB"}, "quant_ctx", 0},
    {{"-m", "llama3.1-8b", "-g", "2GB"}, "quant_ctx", 1},
    {{"-m", "llama3.1-8b", "-g", "12GB", "-c", "max"}, "quant", 1}, // 16 GiB of cache
    {{"-m", "llama3.1-8b", "-g", "24GB", "-c", "max"}, "quant", 0},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "32k"}, "gpu", 0},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "--table", "cache", "-g", "12GB"}, "cache_ctx", 0},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "--table", "cache"}, "cache_ctx", 0},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "--table", "quant", "-g", "12GB"}, "quant_ctx", 0},
    {{"-m", "deepseek-v3-671b", "-g", "2x24GB"}, "quant_ctx", 1},
    {{"-m", "llama4-scout-109b"}, "quant_ctx", 0}, // trained for 10485760 tokens
    {{"-m", "mamba-2.8b", "-g", "rtx3090"}, "quant_ctx", 0},
    {{"-g", "24GB", "-c", "8k", "--quant", "q4_k_m"}, "model", 0},
    {{"-g", "24GB", "-g", "16GB", "-c", "8k", "--moe", "--family", "qwen"}, "model", 0},
    {{"-g", "24GB", "-c", "8k", "--family", "qwen3", "--min-params", "90T"}, "model", 1},
    {{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-g", "24GB", "--runtime", "all"}, "runtime", 0},
};

} // namespace

TEST_CASE("what is left open: JSON by the schema, text in 80 columns, exit codes, every format") {
    const JsonSchema schema = JsonSchema::of_file("table");
    for (const Question& question : questions) {
        std::string asked;
        for (const std::string& arg : question.args) asked += " " + arg;
        INFO(asked);
        const Result json = run_program(question.args, {"--json"});
        CHECK(json.err.empty());
        CHECK(json.code == question.code);
        const nlohmann::json document = nlohmann::json::parse(json.out);
        CHECK(schema.errors(document) == Errors{});
        CHECK(document["kind"] == question.kind);
        for (const auto& row : document["rows"]) CHECK(row.size() == document["columns"].size());
        const Result text = run_program(question.args, {});
        CHECK(text.code == question.code);
        CHECK(widest_line(text.out, cli::display_width) <= 80);
        CHECK(text.out.find("\033") == std::string::npos);
        const Result colored = run_program(question.args, {"--color", "always"});
        CHECK(widest_line(colored.out, cli::display_width) == widest_line(text.out, cli::display_width));
        const Result tsv = run_program(question.args, {"--format", "tsv"});
        CHECK(n_lines(tsv.out) == 1 + document["rows"].size());
        CHECK(contains(run_program(question.args, {"--format", "markdown"}).out, "\n| --- |"));
        const Result quiet = run_program(question.args, {"-q"});
        CHECK(quiet.out.empty());
        CHECK(quiet.code == question.code);
    }
}

void check_one_screen(const Args& args) {
    const Result result = run_program(args);
    CHECK(result.err.empty());
    CHECK(widest_line(result.out, cli::display_width) <= 80);
    CHECK(n_lines(result.out) <= 30);
}

TEST_CASE("every model's table is one screen wide") {
    for (const char* model : {"llama3.1-405b", "deepseek-v3-671b", "llama4-scout-109b", "gpt-oss-120b", "smollm2-135m",
                              "jamba-mini-1.5-52b", "kimi-k3", "gemma3-27b", "llama-3.3-nemotron-super-49b"}) {
        INFO(model);
        check_one_screen({"-m", model});
    }
    for (const char* model : {"llama3.1-405b", "smollm2-135m", "gemma3-27b"}) { // verdicts beside the figures
        INFO(model);
        check_one_screen({"-m", model, "-g", "8x80GB"});
    }
}

TEST_CASE("one row of a table, letter for letter") {
    // solve_test: 5261.50 MiB and 129 KiB a token; 5777.50, 6293.50, 7325.50, 9389.50, 13517.50 and 21773.50 MiB.
    const Result result =
        run_program({"-m", "llama3.1-8b", "--quant", "q4_k_m", "-g", "12GB", "--table", "quant", "--color", "always"});
    CHECK(result.code == 0);
    const std::string green = "\033[1;32m";
    const std::string red = "\033[1;31m";
    const std::string end = "\033[0m";
    CHECK(result.out == "llama3.1-8b  Q4_K_M  KV f16                                      12GB, llama.cpp\n"
                        "\n"
                        "\033[1mquant    4096   8192  16384  32768   65536  131072  largest" +
                            end + "\n" + "Q4_K_M  " + green + "F 5.6" + end + "  " + green + "F 6.1" + end + "  " +
                            green + "F 7.2" + end + "  " + green + "F 9.2" + end + "  " + red + "O 13.2" + end + "  " +
                            red + "O 21.3" + end + "    47616\n" +
                            "\n"
                            "GiB required. F: fits. T: fits tightly, with less to spare than the margin of\n"
                            "1.0 GiB or the error of the estimate. O: out of memory. R: refused by the\n"
                            "runtime. largest: the largest context that fits, tightly where none does better\n");
}

TEST_CASE("an answer in rows, or a word about formats that there are not") {
    const Args complete{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "8k", "-g", "24GB"};
    const Result tsv = run_program(complete, {"--format", "tsv"});
    CHECK(tsv.code == 0);
    CHECK(n_lines(tsv.out) == 3);
    CHECK(contains(tsv.out, "\nllama3.1-8b\tQ4_K_M\t8192\t24GB\tfit\t25769803776\t"));
    CHECK(
        contains(run_program(complete, {"--format", "markdown"}).out, "| llama3.1-8b | Q4_K_M | 8192 | 24GB | fit |"));
    for (const Args& args : {Args{"inspect", "llama3.1-8b", "--format", "tsv"}, Args{"diagnose", "--format", "tsv"}}) {
        const Result result = run_program(args);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(contains(result.err, "--format must be text or json, not \"tsv\""));
    }
}

TEST_CASE("what cannot be looked for is one line") {
    for (const Args& args :
         {Args{"-c", "8k"}, Args{"-g", "24GB"}, Args{"-g", "24GB", "--quant", "q4_k_m"}, Args{"--quant", "q4_k_m"},
          Args{"-m", "llama3.1-8b", "-g", "12GB", "--explain"}, Args{"-m", "llama3.1-8b", "--table", "cache"},
          Args{"-m", "llama3.1-8b", "--table", "quant", "-c", "8k"}, Args{"-g", "24GB", "-c", "8k", "--table", "quant"},
          Args{"-m", "llama3.1-8b", "-c", "8k", "--moe"}, Args{"-m", "llama3.1-8b", "-g", "24GB", "-ngl", "auto"},
          Args{"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "8k", "-ts", "1,1"}}) {
        const Result result = run_program(args);
        INFO(args[0] << ' ' << args[1] << ": " << result.err);
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err.rfind("vramfit: ", 0) == 0);
        CHECK(n_lines(result.err) == 1);
    }
}

TEST_CASE("the best quantization is marked") {
    const Result result = run_program({"-m", "llama3.1-8b", "-g", "12GB", "-c", "32k"});
    CHECK(contains(result.out, "\nQ6_K      6.56   6.1 GiB  10.6 GiB   1.4 GiB  fit      *\n"));
    CHECK(contains(result.out, "\n* the best quantization that fits\n"));
}
