// Every format of every runtime's log that is known, and the rules that a reader of them keeps: a piece of log each, in
// tests/data/log_formats, with what must be read from it. "== title" begins a piece, "?? key=value  key=value" says what
// is expected: names of the diagnosis and its figures, "load.", "text." and "buffer " for what was read on the way. Sizes
// are written as the log writes them, MB and GB being decimal; "-" is nothing.
#include "answer/diagnose/log_reader.hpp"
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

struct Piece {
    std::string title;
    std::vector<std::string> expectations;
    std::string log;
};

std::vector<Piece> pieces_of(const std::string& file) {
    std::vector<Piece> pieces;
    for (const std::string& line : test::split(test::read_file(file), "\n")) {
        if (line.starts_with("== ")) {
            pieces.push_back({line.substr(3), {}, ""});
        } else if (line.starts_with("?? ")) {
            for (const std::string& one : test::split(line.substr(3), "  ")) pieces.back().expectations.push_back(one);
        } else if (!pieces.empty()) {
            pieces.back().log += line + "\n";
        }
    }
    return pieces;
}

/// Bytes of "4403.49MiB" and the like, a fraction of a byte cut off; the number where there is no unit.
double value_of(const std::string& text) {
    char* end = nullptr;
    const double amount = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    const double size = unit == "MiB"   ? 1024.0 * 1024
                        : unit == "GiB" ? 1024.0 * 1024 * 1024
                        : unit == "MB"  ? 1e6
                        : unit == "GB"  ? 1e9
                                        : 1;
    return std::floor(amount * size);
}

std::string text_of(const std::string& key, const Diagnosis& found, const Load& load) {
    if (key == "oom") return found.oom ? "1" : "0";
    if (key == "runtime") return std::string(name_of(found.runtime));
    if (key == "stage") return std::string(name_of(found.stage));
    if (key == "cause") return std::string(name_of(found.cause));
    if (key == "device") return found.device;
    if (key == "model") return found.model_name;
    if (key == "quant") return found.quant;
    if (key == "gpu") return found.gpu;
    if (key == "arch") return load.arch;
    if (key == "load.name") return load.name;
    if (!key.starts_with("text.")) return "?";
    const auto text = load.texts.find(key.substr(5));
    return text == load.texts.end() ? "" : text->second;
}

std::optional<std::uint64_t> number_of(const std::string& key, const Diagnosis& found, const Load& load) {
    static constexpr std::string_view kinds[] = {"weights", "kv_cache", "recurrent_state", "compute", "output"};
    if (key.starts_with("buffer ")) {
        for (const LogBuffer& buffer : load.buffers) {
            const std::string name = std::string(kinds[static_cast<std::size_t>(buffer.kind)]) + " " + buffer.device;
            if (key.substr(7) == name) return buffer.bytes;
        }
        return std::nullopt;
    }
    if (key.starts_with("load.")) {
        const auto number = load.number(key.substr(5));
        return number ? std::optional(number->value) : std::nullopt;
    }
    const LogFigure* figure = found.figure(key);
    return figure == nullptr ? std::nullopt : std::optional(figure->value);
}

/// What is not as `expectation` says; empty where all is well.
std::string problem(const std::string& expectation, const Diagnosis& found, const Load& load) {
    const std::size_t equals = expectation.rfind('=');
    const std::string key = expectation.substr(0, equals), wanted = expectation.substr(equals + 1);
    if (key == "note")
        return std::ranges::any_of(found.notes, [&](const std::string& note) { return note.starts_with(wanted); })
                   ? ""
                   : "no note " + wanted;
    const std::string text = text_of(key, found, load);
    if (text != "?") return text == wanted ? "" : key + " is " + text + ", not " + wanted;
    const auto number = number_of(key, found, load);
    if (wanted == "-") return number ? key + " is " + std::to_string(*number) + ", not absent" : "";
    if (!number) return key + " is absent, not " + wanted;
    return static_cast<double>(*number) == value_of(wanted)
               ? ""
               : key + " is " + std::to_string(*number) + ", not " + wanted;
}

std::string problems_of(const Piece& piece) {
    const Diagnosis found = diagnose(log_stream(piece.log), {});
    const LogFacts facts = LogReader::read(log_stream(piece.log));
    const Load& load = facts.last_failed ? *facts.last_failed : *facts.last;
    std::string all;
    for (const std::string& expectation : piece.expectations) {
        const std::string one = problem(expectation, found, load);
        if (!one.empty()) all += one + "; ";
    }
    return all;
}

void check_all(const std::string& name, std::size_t n_pieces) {
    const auto pieces = pieces_of(std::string(VRAMFIT_TEST_DATA) + "/log_formats/" + name);
    CHECK(pieces.size() == n_pieces);
    for (const Piece& piece : pieces) {
        CHECK_FALSE(piece.expectations.empty());
        CHECK(piece.title + ": " + problems_of(piece) == piece.title + ": ");
    }
}

} // namespace

TEST_CASE("the rules that a reader of logs keeps", "[diagnose][log_formats]") { check_all("0_rules.txt", 27); }
TEST_CASE("llama.cpp: what a model is", "[diagnose][log_formats]") { check_all("1_llama_model.txt", 15); }
TEST_CASE("llama.cpp: weights", "[diagnose][log_formats]") { check_all("2_llama_weights.txt", 11); }
TEST_CASE("llama.cpp: contexts and caches", "[diagnose][log_formats]") { check_all("3_llama_context.txt", 26); }
TEST_CASE("llama.cpp: compute buffers", "[diagnose][log_formats]") { check_all("4_llama_compute.txt", 13); }
TEST_CASE("llama.cpp: what --fit tries, and the table at the end", "[diagnose][log_formats]") {
    check_all("5_llama_fit.txt", 6);
}
TEST_CASE("llama.cpp: failures and what is none", "[diagnose][log_formats]") { check_all("6_llama_failures.txt", 22); }
TEST_CASE("Ollama's own lines", "[diagnose][log_formats]") { check_all("7_ollama.txt", 22); }
TEST_CASE("vLLM's and SGLang's lines", "[diagnose][log_formats]") { check_all("8_vllm.txt", 18); }
TEST_CASE("PyTorch's words", "[diagnose][log_formats]") { check_all("9_pytorch.txt", 5); }
TEST_CASE("LM Studio and koboldcpp", "[diagnose][log_formats]") { check_all("10_others.txt", 6); }
