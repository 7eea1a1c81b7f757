// The parts that a diagnosis is made of: lines, keywords, texts, reports.
#include "answer/diagnose/keyword_search.hpp"
#include "answer/diagnose/line_reader.hpp"
#include "answer/diagnose/log_reader.hpp"
#include "answer/diagnose/log_text.hpp"
#include "catch.hpp"
#include "support/log_stream.hpp"

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

std::vector<std::string> lines_of(const std::string& text, std::size_t chunk) {
    LineReader reader(log_stream(text, chunk));
    std::vector<std::string> lines;
    for (std::string_view line; reader.next(line);) lines.emplace_back(line);
    return lines;
}

} // namespace

TEST_CASE("lines come whole whatever the pieces", "[diagnose]") {
    for (const std::size_t chunk : {1, 2, 7, 4096}) {
        CHECK(lines_of("one\r\n\ntwo\nthree", chunk) == std::vector<std::string>{"one", "", "two", "three"});
        CHECK(lines_of("\xef\xbb\xbfone\n", chunk).size() == 1);
    }
    CHECK(lines_of("", 7).empty());
    CHECK(lines_of(std::string("\xff\xfe") + std::string("a\0\n\0b\0", 6), 4096) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a line without an end comes in pieces that have one number", "[diagnose]") {
    const std::string text = std::string(200'000, 'x') + "\nend";
    LineReader reader(log_stream(text));
    std::size_t pieces = 0, bytes = 0;
    for (std::string_view line; reader.next(line); ++pieces) {
        CHECK(line.size() <= LineReader::longest_line);
        bytes += line.size();
    }
    CHECK(pieces == 5);
    CHECK(bytes == 200'003);
    CHECK(reader.number() == 2);
}

TEST_CASE("every keyword is found wherever it stands", "[diagnose]") {
    const std::vector<std::string_view> keywords{"buffer size", "buffer", "n_ctx ", "abcabc"};
    const KeywordSearch search(keywords);
    std::string found;
    search.each("n_ctx buffer size abcabcabc n_ctx ", [&](std::size_t keyword, std::size_t at) {
        found += std::to_string(keyword) + "@" + std::to_string(at) + " ";
    });
    CHECK(found == "2@0 0@6 1@6 3@18 3@21 2@28 ");
    search.each("n_ctx", [](std::size_t, std::size_t) { FAIL("too short"); });
}

TEST_CASE("numbers and sizes of logs", "[diagnose]") {
    using namespace log_text;
    CHECK(count(" = 20,992 tokens") == std::optional<std::uint64_t>(20992));
    CHECK(number("-3.03 GiB") == std::optional(-3.03));
    CHECK(size_in("=  4403.49 MiB") == std::optional<std::uint64_t>(4617393930)); // 4403.49 * 2^20, cut
    CHECK(size_in("11.02GiB.") == std::optional<std::uint64_t>(11832634900));
    CHECK(size_in("0 bytes free") == std::optional<std::uint64_t>(0));
    CHECK(!size_in("NaN undefined"));
    CHECK(!count("99999999999999999999999"));
    CHECK(field("a=1 memory.available=\"[6.6 GiB]\" x=2", "memory.available") ==
          std::optional<std::string_view>("6.6 GiB"));
    CHECK(field("\"model layers\"=49 requested=-1", "model layers") == std::optional<std::string_view>("49"));
    CHECK(without_prefix("Sep 11 00:42:50 host ollama[3110]: text") == "text");
    CHECK(without_prefix("(Worker_TP0 pid=12) ERROR 12-11 00:06:53 [core.py:1] text") == "text");
    CHECK(without_colors("\x1b[34mblue\x1b[0m") == "blue");
}

TEST_CASE("every keyword of a rule is long enough to be found", "[diagnose]") {
    for (const auto rules : {llama_model_rules(), llama_metadata_rules(), llama_context_rules(), llama_failure_rules(),
                             ollama_rules(), python_rules(), other_rules(), speech_rules()}) {
        for (const Rule& rule : rules) CHECK(rule.keyword.size() >= KeywordSearch::least_length);
    }
}
