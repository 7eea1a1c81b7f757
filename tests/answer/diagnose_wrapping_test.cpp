// Logs that a terminal, `fold` or a forum has wrapped in the middle of words and numbers.
#include "answer/diagnose/wrapped_lines.hpp"
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <map>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

const std::string folder = std::string(VRAMFIT_TEST_DATA) + "/logs/";

/// As `fold -w` does it.
std::string folded(const std::string& text, std::size_t width, const std::string& quote = "") {
    std::string result;
    for (std::string line : test::split(text, "\n")) {
        for (; line.size() > width; line.erase(0, width)) result += quote + line.substr(0, width) + "\n";
        result += quote + line + "\n";
    }
    return result;
}

/// All that a diagnosis says but the numbers of lines.
std::string meaning_of(const std::string& log) {
    const Diagnosis found = diagnose(log_stream(log), {});
    std::string text = std::string(name_of(found.runtime)) + " " + std::string(name_of(found.stage)) + " " +
                       std::string(name_of(found.cause)) + " " + found.device + " " + found.model_name + " " +
                       found.quant;
    std::map<std::string, std::uint64_t> figures;
    for (const LogFigure& figure : found.figures) figures[figure.name] = figure.value;
    for (const auto& [name, value] : figures) text += " " + name + "=" + std::to_string(value);
    return text;
}

std::vector<std::string> lines_of(const std::string& text) {
    WrappedLines lines(log_stream(text));
    std::vector<std::string> all;
    for (std::string_view line; lines.next(line);) all.emplace_back(line);
    return all;
}

} // namespace

TEST_CASE("a log means the same wrapped at any width, quoted or not", "[diagnose][wrapping]") {
    for (const std::string& row : test::read_lines(folder + "expected.tsv")) {
        const std::string name = row.substr(0, row.find('\t'));
        const std::string log = test::read_file(folder + name);
        const std::string meaning = name + " " + meaning_of(log);
        for (const std::size_t width : {80U, 100U, 120U}) {
            CHECK(name + " " + meaning_of(folded(log, width)) == meaning);
            CHECK(name + " " + meaning_of(folded(log, width, "> ")) == meaning);
        }
    }
}

TEST_CASE("a number that was broken is whole again, and says where it began", "[diagnose][wrapping]") {
    const std::string log = folded("load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n"
                                   "llama_context: n_seq_max             = 1\n"
                                   "llama_context: n_ctx                 = 131072\n"
                                   "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n",
                                   43); // "llama_context: n_ctx                 = 1310" and "72"
    const Diagnosis found = diagnose(log_stream(log), {});
    REQUIRE(found.figure("n_ctx") != nullptr);
    CHECK(found.figure("n_ctx")->value == 131072);
    CHECK(found.figure("n_ctx")->line == 4);
}

TEST_CASE("lines that happen to be equally long stay apart", "[diagnose][wrapping]") {
    const std::string rows = "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n"
                             "llama_kv_cache:      CUDA1 KV buffer size =  1024.00 MiB\n"
                             "sched_reserve:  CUDA0 compute buffer size =   258.50 MiB\n"
                             "llama_context: n_ctx = 8192\n";
    CHECK(lines_of(rows).size() == 4);
    const std::string table = "+----------------------------------------+\n"
                              "| NVIDIA-SMI 550.54      CUDA Version 12 |\n"
                              "+----------------------------------------+\n";
    CHECK(lines_of(table).size() == 3);
}

TEST_CASE("lines wrapped at blanks are put together, too", "[diagnose][wrapping]") {
    const std::string log = "INFO one line that is as long as all lines \n"
                            "may be, and then a little longer\n"
                            "INFO a short one\n"
                            "INFO another line that is so long that it \n"
                            "goes on\n"
                            "INFO the last\n";
    CHECK(lines_of(log) ==
          std::vector<std::string>{"INFO one line that is as long as all lines may be, and then a little longer",
                                   "INFO a short one", "INFO another line that is so long that it goes on",
                                   "INFO the last"});
}

TEST_CASE("a wrapped line without an end keeps to constant memory", "[diagnose][wrapping]") {
    const std::string log = "INFO begins\nINFO again\n" + folded(std::string(400'000, 'x'), 80);
    std::size_t bytes = 0;
    for (const std::string& line : lines_of(log)) {
        CHECK(line.size() <= 40'000);
        bytes += line.size();
    }
    CHECK(bytes == 400'000 + 11 + 10);
}

TEST_CASE("a log that was broken at blanks, which are gone, is read as if it were whole", "[diagnose]") {
    const std::string line = "2026-12-01 10:00:0";
    std::string log;
    for (int i = 0; i < 8; ++i)
        log += line + std::to_string(i) +
               " load_tensors: some words about tensors, all of which are long enough\nunbelievably broken here\n";
    log += line +
           "8 ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device\n"
           "0: cudaMalloc failed: out of memory\n" +
           line +
           "9 llama_init_from_model: failed to initialize the context: failed to allocate\n"
           "buffer for kv cache\n";
    const Diagnosis found = diagnose(log_stream(log), {});
    CHECK(found.stage == FailureStage::kv_cache);
    CHECK(found.device == "CUDA0");
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(found.figure("requested")->value == 4294967296);
    CHECK(found.figure("requested")->line == 17);
}

TEST_CASE("a log whose broken lines go on indented is read as if it were whole", "[diagnose]") {
    // 60 columns, four blanks before what goes on.
    std::string log;
    for (int i = 0; i < 4; ++i) log += "load_tensors: " + std::string(46, 'x') + "\n    yyyy\nload_tensors: short\n";
    log +=
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.\n    00 MiB on device 0: cudaMalloc failed: out "
        "of mem\n"
        "ory\nllama_init_from_model: failed to initialize the context: fai\n    led to allocate buffer for kv cache\n";
    const Diagnosis found = diagnose(log_stream(log), {});
    CHECK(found.stage == FailureStage::kv_cache);
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(found.figure("requested")->value == 4294967296);
}

TEST_CASE("whole lines stay whole", "[diagnose]") {
    // A traceback is indented, and has long lines: nothing of it goes on.
    std::string log;
    for (int i = 0; i < 6; ++i)
        log += "  File \"/v/site-packages/torch/nn/modules/module.py\", line 1736, in _wrapped_call_impl\n"
               "    return self._call_impl(*args, **kwargs)\n";
    CHECK(lines_of(log).size() == 12);
    std::string workers;
    for (int i = 0; i < 6; ++i)
        workers += "INFO 12-11 00:06:53 [core.py:1] a message of some length that differs from line to line" +
                   std::string(static_cast<std::size_t>(i), 'x') + "\n";
    CHECK(lines_of(workers).size() == 6);
}
