#include "catch.hpp"
#include "cli/layout.hpp"
#include "cli/options.hpp"
#include "cli/render.hpp"
#include "cli/run.hpp"
#include "cli/sample_answers.hpp"
#include "support/errors.hpp"
#include "vramfit/base/error.hpp"

#include <sstream>

using namespace vramfit;
using namespace vramfit::test;
using Args = std::vector<std::string>;

namespace {

struct Result {
    int code = -1;
    std::string out, err;
};

Result run_with(const Args& args, const cli::AnswerFunction& answer) {
    std::ostringstream out;
    std::ostringstream err;
    Result result;
    result.code = cli::run(args, out, err, utf8_pipe(), answer);
    result.out = out.str();
    result.err = err.str();
    return result;
}

/// The main job with `args` more, for which the answer is `answer`.
Result fit_with(const Args& more, const Answer& answer, const Args& first = {}) {
    Args args = first;
    args.insert(args.end(), {"-m", "llama3.1-8b", "--quant", "q4_k_m", "-c", "32768", "-g", "24GB"});
    args.insert(args.end(), more.begin(), more.end());
    return run_with(args, [&](const Request&) { return answer; });
}

Result run_without_answer(const Args& args) {
    return run_with(args, [](const Request&) -> Answer { throw Error("no question was expected"); });
}

Answer tight_answer() { return llama_answer("10GB", 10 * gib, Verdict::tight); }

} // namespace

TEST_CASE("exit code of the main job") {
    CHECK(fit_with({}, fitting_answer()).code == 0);
    CHECK(fit_with({}, tight_answer()).code == 0);
    CHECK(fit_with({}, failing_answer()).code == 1);
    CHECK(fit_with({}, refused_answer()).code == 1);
    CHECK(fit_with({"--strict"}, fitting_answer()).code == 0);
    CHECK(fit_with({"--strict"}, tight_answer()).code == 1);
    CHECK(fit_with({"--strict", "--json"}, tight_answer()).code == 1);
}

TEST_CASE("the question reaches the library as it was asked") {
    Request seen;
    run_with({"fit", "-m", "qwen3-8b", "--quant", "q8_0", "-g", "2x24GB", "-np", "2"}, [&](const Request& request) {
        seen = request;
        return fitting_answer();
    });
    CHECK(seen.model == "qwen3-8b");
    CHECK(seen.gpus == Args{"2x24GB"});
    CHECK(seen.parallel == 2);
}

TEST_CASE("forms of the answer") {
    CHECK(fit_with({}, fitting_answer()).out == cli::render_text(fitting_answer(), utf8_pipe()));
    CHECK(fit_with({}, fitting_answer(), {"fit"}).out == cli::render_text(fitting_answer(), utf8_pipe()));
    CHECK(fit_with({"--json"}, fitting_answer()).out == cli::render_json(fitting_answer()));
    CHECK(fit_with({"--explain"}, fitting_answer()).out ==
          cli::render_text(fitting_answer(), utf8_pipe()) + cli::render_explanation(fitting_answer(), utf8_pipe()));
    const Result quiet = fit_with({"-q"}, failing_answer());
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
    CHECK(quiet.code == 1);
}

TEST_CASE("the option --color overrides the terminal") {
    CHECK(!contains(fit_with({}, fitting_answer()).out, "\033"));
    CHECK(contains(fit_with({"--color", "always"}, fitting_answer()).out, "\033[1;32mFIT\033[0m"));
    CHECK(!contains(fit_with({"--color", "always", "--json"}, fitting_answer()).out, "\033"));
}

TEST_CASE("failures: one line on standard error, nothing on standard output, exit code 2") {
    const auto check = [](const Result& result, const std::string& message) {
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        CHECK(result.err == "vramfit: " + message + "\n");
    };
    check(run_without_answer({}), "give a model or a GPU, such as --model llama3.1-8b, or --gpu 24GB --ctx 8192");
    check(run_without_answer({"--modle", "x"}), "unknown option --modle; did you mean --model or --moe?");
    check(run_without_answer({"modles"}), "unknown command \"modles\"; did you mean models?");
    check(run_without_answer({"llama3.1-8b"}),
          "unknown command \"llama3.1-8b\"; a model is given with --model, see vramfit --help");
    check(run_without_answer({""}), "unknown command \"\"; a model is given with --model, see vramfit --help");
    check(run_without_answer({"models", "--quant", "x"}), "unknown option --quant; see vramfit --help");
    check(run_without_answer({"models", "a", "b"}), "unexpected argument \"b\"; give one filter");
    check(run_without_answer({"-m", "a", "--quant", "b", "-g", "c"}), "no question was expected");
    check(run_with({"-m", "a", "--quant", "b", "-g", "c"}, [](const Request&) -> Answer { throw std::bad_alloc(); }),
          "out of memory");
    check(run_with({"-m", "a", "--quant", "b", "-g", "c"},
                   [](const Request&) -> Answer { throw std::logic_error("oops"); }),
          "internal error: oops");
}

TEST_CASE("help and version win over everything else that is well-formed") {
    const Result help = run_without_answer({"--help"});
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    for (const auto& option : cli::fit_options()) {
        INFO(option.spellings);
        CHECK(contains(help.out,
                       "  " + std::string(option.all_spellings().front()) +
                           (option.all_spellings().front() == option.name() ? (option.takes_value() ? " " : "")
                                                                            : ", " + std::string(option.name()))));
    }
    CHECK(contains(help.out, "Examples:\n  vramfit --model llama3.1-8b --quant q4_k_m --ctx 32768 --gpu 24GB\n"));
    CHECK(widest_line(help.out, cli::display_width) <= 80);
    CHECK(run_without_answer({"fit", "-h", "-c", "x"}).out == help.out);
    CHECK(contains(run_without_answer({"models", "--help"}).out, "vramfit models [FILTER]"));
    CHECK(widest_line(run_without_answer({"gpus", "--help"}).out, cli::display_width) <= 80);
    CHECK(run_without_answer({"--version"}).out == "vramfit " VRAMFIT_VERSION "\nmemory rules of llama.cpp v0.4.0\n");
}
