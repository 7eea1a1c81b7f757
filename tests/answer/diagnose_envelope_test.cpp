// What carries the lines of a log: container engines, log collectors, forums.
#include "answer/diagnose/log_envelope.hpp"
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>
#include <functional>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result;
}

/// The log of a failed KV cache, every line of it carried by `carry`.
std::string carried(const std::function<std::string(const std::string&)>& carry) {
    std::string result;
    const std::string log = test::read_file(std::string(VRAMFIT_TEST_DATA) + "/logs/24_fail_gemma27b_kv.log");
    for (const std::string& line : test::split(log, "\n")) result += carry(line);
    return result;
}

void check_meaning(const std::string& log) {
    const Diagnosis found = diagnose(log_stream(log, 977), {});
    CHECK(name_of(found.runtime) == "llama.cpp");
    CHECK(name_of(found.stage) == "kv_cache");
    CHECK(found.device == "CUDA0");
    CHECK(found.model_id == "gemma3-27b");
    CHECK(found.quant == "Q4_K_M");
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(found.figure("requested")->value == 10737418240);
    REQUIRE(found.figure("n_ctx") != nullptr);
    CHECK(found.figure("n_ctx")->value == 131072);
    REQUIRE(found.figure("free") != nullptr);
    CHECK(found.figure("free")->value == 24052 * mib);
}

} // namespace

TEST_CASE("a log means the same whatever carries its lines", "[diagnose][envelope]") {
    check_meaning(carried([](const std::string& line) {
        return R"({"log":")" + escaped(line) + R"(\n","stream":"stderr","time":"2026-05-14T22:14:30.995123456Z"})" +
               "\n";
    }));
    check_meaning(carried([](const std::string& line) {
        return R"({"time": "2026-05-14T22:14:30Z", "level": "INFO", "msg": ")" + escaped(line) + "\"}\n";
    }));
    check_meaning(carried([](const std::string& line) {
        return "time=\"2026-05-14T22:14:30Z\" level=info msg=\"" + escaped(line) + "\" stream=stderr\n";
    }));
    check_meaning(carried([](const std::string& line) { return "2026-05-14T22:14:30.9951Z stderr F " + line + "\n"; }));
    check_meaning(carried([](const std::string& line) {
        return "| " + line + std::string(200 - std::min<std::size_t>(200, line.size()), ' ') + " |\n";
    }));
    check_meaning(carried([](const std::string& line) { return "> > " + line + "\n"; }));
    check_meaning("It fails:\n```\n" + carried([](const std::string& line) { return line + "\n"; }) + "```\n");
}

TEST_CASE("a log means the same whatever ends its lines and is strewn in", "[diagnose][envelope]") {
    check_meaning(carried([](const std::string& line) { return line + "\r"; }));
    check_meaning(carried([](const std::string& line) { return "loading 10%\rloading 99%\r" + line + "\n"; }));
    check_meaning(carried([](const std::string& line) { return line + std::string(3, '\0') + "\n"; }));
    check_meaning(std::string(5000, '\0') + carried([](const std::string& line) { return line + "\n"; }));
    check_meaning(carried([](const std::string& line) { return line + "\xe2\x96\n"; }));
    check_meaning(carried([](const std::string& line) { return line + "\xff\r\n"; }));
}

TEST_CASE("records of log collectors", "[diagnose][envelope]") {
    CHECK(text_of_record(R"({"log":"a \"b\" c\u00e4\n","stream":"stdout","time":"t"})") ==
          std::optional<std::string>("a \"b\" c\xc3\xa4\n"));
    CHECK(text_of_record(R"(level=error msg="one\ntwo" error="cudaMalloc failed")") ==
          std::optional<std::string>("one\ntwo error=\"cudaMalloc failed\""));
    CHECK(!text_of_record(R"(time=t level=INFO source=sched.go:1 msg="system memory" total="16 GiB")")); // Ollama's own
    CHECK(!text_of_record(R"({"error":"out of memory"})"));
    CHECK(!text_of_record("plain"));
}

TEST_CASE("quotation marks, bars and back-ticks", "[diagnose][envelope]") {
    CHECK(unquoted("> > text") == "text");
    CHECK(unquoted(">text") == "text");
    CHECK(unquoted("| text    |") == "text");
    CHECK(unquoted("|   - CUDA0 | 1 = 2") == "|   - CUDA0 | 1 = 2"); // no bar at its end: its own
    CHECK(unquoted("`text`") == "text");
    CHECK(unquoted("```").empty());
    CHECK(unquoted("  indented") == "  indented");
    CHECK(unquoted(">").empty());
}

TEST_CASE("only whole characters end a line", "[diagnose][envelope]") {
    CHECK(without_broken_end("a\xc3\xa4") == "a\xc3\xa4");
    CHECK(without_broken_end("a\xc3") == "a");
    CHECK(without_broken_end("a\xe2\x96") == "a");
    CHECK(without_broken_end("a\xf0\x9f\x98\x80") == "a\xf0\x9f\x98\x80");
    CHECK(without_broken_end("\x80\xff").empty());
}
