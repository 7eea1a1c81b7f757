// Whole logs: tests/data/logs, with what a diagnosis must find in expected.tsv.
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

const std::string folder = std::string(VRAMFIT_TEST_DATA) + "/logs/";

/// Logs print two decimals of a unit: what lies that near is the same.
bool near_to(std::uint64_t a, std::uint64_t b) {
    return std::max(a, b) - std::min(a, b) <= std::max(b / 1000, mib / 64);
}

std::string problem(const Diagnosis& diagnosis, std::string_view name, const std::string& wanted) {
    if (wanted == "-") return "";
    const LogFigure* figure = diagnosis.figure(name);
    if (figure == nullptr) return std::string(name) + " missing";
    const std::uint64_t value = std::stoull(wanted);
    const bool same = figure->bytes ? near_to(figure->value, value) : figure->value == value;
    return same ? "" : std::string(name) + " is " + std::to_string(figure->value) + ", not " + wanted;
}

std::string problems(const Diagnosis& found, const std::vector<std::string>& wanted) {
    std::vector<std::string> all;
    const auto same = [&](std::string_view name, std::string_view value, const std::string& expected) {
        if (expected != "-" && value != expected) all.push_back(std::string(name) + " is " + std::string(value));
    };
    same("oom", found.oom ? "0" : "1", wanted[1]);
    same("runtime", name_of(found.runtime), wanted[2]);
    same("stage", name_of(found.stage), wanted[3]);
    same("cause", name_of(found.cause), wanted[4]);
    same("device", found.device, wanted[5]);
    static constexpr const char* figures[] = {"requested", "free",     "n_ctx",  "n_parallel",
                                              "weights",   "kv_cache", "compute"};
    for (std::size_t i = 0; i < std::size(figures); ++i) all.push_back(problem(found, figures[i], wanted[6 + i]));
    same("model", found.model_name, wanted[13]);
    same("quant", found.quant, wanted[14]);
    std::string text;
    for (const std::string& one : all) text += one.empty() ? "" : one + "; ";
    return text;
}

std::string log_text_of(const std::string& name) { return test::read_file(folder + name); }

} // namespace

TEST_CASE("every log is diagnosed as its cause is known", "[diagnose]") {
    const auto rows = test::read_lines(folder + "expected.tsv");
    CHECK(rows.size() == 40);
    for (const std::string& row : rows) {
        const auto wanted = test::split(row, "\t");
        const Diagnosis found = diagnose(log_stream(log_text_of(wanted[0])), {});
        CHECK(wanted[0] + ": " + problems(found, wanted) == wanted[0] + ": ");
    }
}

TEST_CASE("a log means the same with prefixes, Windows line ends, colours, in UTF-16 and in small pieces",
          "[diagnose]") {
    const std::string plain = log_text_of("24_fail_gemma27b_kv.log");
    std::string journal, docker, windows, colored, wide = "\xff\xfe", quoted;
    for (const std::string& line : test::split(plain, "\n")) {
        journal += "Sep 11 00:42:50 host llama[31]: " + line + "\n";
        docker += "llm-1  | 2026-05-14 22:14:30.995 | " + line + "\n";
        windows += line + "\r\n";
        colored +=
            "\x1b[34m" + line.substr(0, 15) + "\x1b[0m" + line.substr(std::min<std::size_t>(15, line.size())) + "\n";
        quoted += "> " + line + "\n";
    }
    for (const char c : plain) wide += std::string{c, '\0'};
    for (const std::string& text : {journal, docker, windows, colored, wide, quoted}) {
        const Diagnosis found = diagnose(log_stream(text, 977), {});
        CHECK(found.stage == FailureStage::kv_cache);
        CHECK(found.device == "CUDA0");
        REQUIRE(found.figure("requested") != nullptr);
        CHECK(found.figure("requested")->value == 10737418240);
        REQUIRE(found.figure("n_ctx") != nullptr);
        CHECK(found.figure("n_ctx")->value == 131072);
        CHECK(found.figure("free")->value == 24052 * mib);
        CHECK(found.model_id == "gemma3-27b");
    }
}

TEST_CASE("actions are flags that the estimator has tried", "[diagnose]") {
    const Diagnosis found = diagnose(log_stream(log_text_of("25_fail_compute_ub2048.log")), {});
    REQUIRE(found.actions.size() >= 2);
    CHECK(found.actions[0].flags == std::vector<std::string>{"-ub", "512"});
    REQUIRE(found.actions[0].verdict);
    CHECK(*found.actions[0].verdict == Verdict::tight); // 18508 + 2048 + 307 MiB and the context of 300 in 21528
    CHECK(found.missing.empty());
}

TEST_CASE("a failed cache without any figure: an 8B of Llama 3.1's shape has 128 KiB a token", "[diagnose]") {
    const std::string line = "llama_new_context_with_model: failed to allocate KV cache\n";
    const Diagnosis alone = diagnose(log_stream(line), {});
    CHECK(alone.oom);
    CHECK(alone.stage == FailureStage::kv_cache);
    CHECK(alone.cause == FailureCause::kv_too_large);
    CHECK(alone.runtime == LogRuntime::llama_cpp);
    CHECK(alone.missing == std::vector<std::string>{"--model", "--quant", "--gpu", "--ctx"});
    Request hints;
    hints.model = "llama3.1-8b";
    const Diagnosis known = diagnose(log_stream(line), hints);
    REQUIRE(known.arithmetic.size() == 1);
    CHECK(known.arithmetic[0].starts_with("128 KiB a token, 16.0 GiB for the 131072 tokens"));
    hints.quant = "q4_k_m";
    hints.gpus = {"24GB"};
    const Diagnosis confirmed = diagnose(log_stream(line), hints);
    REQUIRE(!confirmed.actions.empty());
    CHECK(confirmed.actions[0].flags == std::vector<std::string>{"-c", "131072"}); // 4.3 + 16 GiB and 1 GiB of margin
    CHECK(confirmed.actions[0].verdict == std::optional(Verdict::fit));
}

TEST_CASE("a context is a number of tokens: 262144 of them take 32 GiB, 1 GiB holds 8192", "[diagnose]") {
    const std::string line =
        "llama-server: failed to allocate KV cache, requested ctx=262144, gpu memory free=1024 MiB\n";
    const Diagnosis alone = diagnose(log_stream(line), {});
    CHECK(alone.oom);
    CHECK(alone.figure("n_ctx")->value == 262144);
    CHECK(alone.figure("free")->value == gib);
    CHECK(alone.figure("requested") == nullptr); // no guess: nobody said which model
    REQUIRE(alone.actions.size() >= 2);
    CHECK(alone.actions[0].kind == "ctx");
    CHECK(!alone.actions[0].verdict);
    CHECK(alone.actions[1].kind == "cache_type");
    Request hints;
    hints.model = "llama3.1-8b";
    const Diagnosis known = diagnose(log_stream(line), hints);
    REQUIRE(known.figure("requested") != nullptr);
    CHECK(known.figure("requested")->value == 32 * gib);
    CHECK(std::ranges::any_of(known.arithmetic,
                              [](const std::string& text) { return text.find("8192 tokens") != std::string::npos; }));
    REQUIRE(known.actions.size() >= 2);
    CHECK(known.actions[0].kind == "ctx");
    REQUIRE(known.actions[0].flags.size() == 2);
    CHECK(std::stoull(known.actions[0].flags[1]) < 8192); // the compute buffer takes its part
    CHECK(std::stoull(known.actions[0].flags[1]) >= 4096);
    CHECK(known.actions[0].verdict == std::optional(Verdict::tight));
    CHECK(known.actions[1].kind == "cache_type");
}
