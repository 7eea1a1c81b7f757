#include "catch.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/sample_answers.hpp"
#include "support/data_file.hpp"
#include "support/errors.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::render_text;

// Bars are 28 characters for the larger of available and required: 4.3 of 24 GiB are 40.1 eighths, 5 characters.

TEST_CASE("text: it fits") {
    CHECK(render_text(fitting_answer(), utf8_pipe()) == R"(
llama3.1-8b  Q4_K_M  ctx 32768  KV f16                           24GB, llama.cpp

  FIT   9.2 of 24.0 GiB, 14.8 GiB free

  weights    4.3 GiB  █████
  KV cache   4.0 GiB  ████▋             128 KiB/token
  compute    0.1 GiB  ▏
  overhead   0.7 GiB  ▉                 typical, 0.2 to 1.0 GiB
  free      14.8 GiB  ░░░░░░░░░░░░░░░░░

  in RAM     0.3 GiB  weights 0.3 GiB, compute 48 MiB, output 2 MiB

  largest context: 131072 (all the model was trained for)
  run: llama-server -m MODEL.gguf -c 32768 -ngl 99
)" + 1);
}

TEST_CASE("text: it does not fit, without UTF-8") {
    CHECK(render_text(failing_answer(), ascii_pipe()) == R"(
llama3.1-8b  Q4_K_M  ctx 32768  KV f16                            8GB, llama.cpp

  OOM   9.2 of 8.0 GiB, 1.2 GiB too much

  weights    4.3 GiB  #############
  KV cache   4.0 GiB  ############      128 KiB/token
  compute    0.1 GiB  #
  overhead   0.7 GiB  ##                typical, 0.2 to 1.0 GiB
  missing    1.2 GiB  ....

  in RAM     0.3 GiB  weights 0.3 GiB, compute 48 MiB, output 2 MiB

  largest context: 15104 (tight up to 23040)

  llama.cpp will say, when it creates the context:
    allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory; failed
    to allocate buffer for kv cache

  what helps:
    FIT      -2.2 GiB  a context of 15104 instead of 32768: -c 15104
    TIGHT    -1.9 GiB  the KV cache in q8_0 (close to lossless; needs flash
                       attention): -ctk q8_0 -ctv q8_0

  run: llama-server -m MODEL.gguf -c 15104 -ngl 99
)" + 1);
}

TEST_CASE("text: the runtime refuses") {
    CHECK(render_text(refused_answer(), utf8_pipe()) == R"(
llama3.1-8b  Q4_K_M  ctx 32768  KV f16/q8_0                      24GB, llama.cpp

  REFUSED   llama.cpp does not start with these settings

  llama.cpp will say, when it loads the model:
    quantized V cache requires flash_attn to be enabled
)" + 1);
}

TEST_CASE("text: a block for each device") {
    CHECK(render_text(split_answer(), utf8_pipe()) == R"(
llama3.1-8b  Q4_K_M  ctx 32768  KV f16                   4GB, rtx3090, llama.cpp

  OOM   on 1 of 2 GPUs

  GPU 0: 4GB   OOM   5.0 of 4.0 GiB, 1.0 GiB too much

  weights    2.1 GiB  ████████████
  KV cache   2.0 GiB  ███████████▎
  compute    0.1 GiB  ▊
  overhead   0.7 GiB  ████▏             typical, 0.2 to 1.0 GiB
  missing    1.0 GiB  ░░░░░░

  GPU 1: rtx3090   FIT   5.0 of 24.0 GiB, 19.0 GiB free

  weights    2.1 GiB  ██▌
  KV cache   2.0 GiB  ██▍
  compute    0.1 GiB  ▏
  overhead   0.7 GiB  ▉                 typical, 0.2 to 1.0 GiB
  free      19.0 GiB  ░░░░░░░░░░░░░░░░░░░░░░

  in RAM     0.3 GiB  weights 0.3 GiB, compute 48 MiB, output 2 MiB

  largest context: none fits
)" + 1);
}

TEST_CASE("text: the verdict has its colour, and nothing but colour differs") {
    const std::string colored = render_text(failing_answer(), utf8_pipe().with(cli::ColorMode::always));
    CHECK(contains(colored, "\033[1;31mOOM\033[0m   9.2 of 8.0 GiB"));
    CHECK(contains(colored, "    \033[1;32mFIT\033[0m      -2.2 GiB  a context of 15104"));
    std::string plain;
    for (std::size_t i = 0; i < colored.size(); ++i) {
        if (colored[i] == '\033')
            i = colored.find('m', i);
        else
            plain += colored[i];
    }
    CHECK(plain == render_text(failing_answer(), utf8_pipe()));
}

TEST_CASE("text: a tight fit says why") {
    Answer a = llama_answer("10GB", 10 * gib, Verdict::tight); // 850.5 MiB free
    CHECK(contains(render_text(a, utf8_pipe()),
                   "  TIGHT   9.2 of 10.0 GiB, 0.8 GiB free: less than the margin of 1.0 GiB\n"));
    a.devices[0].wanted = a.devices[0].error = 3 * gib;
    CHECK(contains(render_text(a, utf8_pipe()), ", 0.8 GiB free: the estimate may be off by 3.0 GiB\n"));
    CHECK(contains(render_text(a, utf8_pipe()), "\n\n  run: llama-server")); // a tight fit does not read as a fit
}

TEST_CASE("text: a verdict with a long lead is broken") {
    Answer a = split_answer();
    a.devices[1] = device("4GB", 4 * gib, {2 * gib, gib, 0, 0}, Verdict::tight); // 274 MiB free
    CHECK(contains(render_text(a, utf8_pipe()),
                   "\n  GPU 1: 4GB   TIGHT   3.7 of 4.0 GiB, 0.3 GiB free: less than the margin of\n"
                   "                       1.0 GiB\n\n"));
    a.devices[1].name = "a-name-of-thirty-two-characters-";
    CHECK(contains(render_text(a, utf8_pipe()),
                   "\n  GPU 1: a-name-of-thirty-two-characters-\n"
                   "    TIGHT   3.7 of 4.0 GiB, 0.3 GiB free: less than the margin of 1.0 GiB\n\n"));
}

TEST_CASE("text: no line ends in blanks") {
    Answer a = fitting_answer();
    a.devices[0].memory.weights = a.devices[0].memory.compute = 0;
    a.devices[0].headroom = 0;
    for (const auto& terminal : {utf8_pipe(), utf8_pipe().with(cli::ColorMode::always)}) {
        const std::string text = render_text(a, terminal);
        CHECK(!contains(text, " \n"));
        CHECK(contains(text, "\n  weights    0.0 GiB\n"));
        CHECK(contains(text, "\n  free       0.0 GiB\n"));
    }
}

TEST_CASE("text: what is not available is said") {
    Answer a = fitting_answer();
    a.devices[0].available = 22 * gib;
    a.devices[0].reserve = 2 * gib;
    CHECK(contains(render_text(a, utf8_pipe()), "\n  22.0 of 24.0 GiB can be used, 2.0 GiB are kept in reserve\n"));
    a.devices[0].reserve = 0;
    CHECK(contains(render_text(a, utf8_pipe()), "\n  22.0 of 24.0 GiB can be used\n"));
}

TEST_CASE("text: slots with a context of their own") {
    Answer a = fitting_answer();
    a.settings.kv_unified = false;
    a.settings.n_ctx_per_seq = 8192;
    CHECK(contains(render_text(a, utf8_pipe()), "  ctx 32768 (4 x 8192)  KV f16 "));
}

TEST_CASE("text: recurrent state in place of a cache, a modelled compute buffer") {
    Answer a = fitting_answer();
    a.kv_bytes_per_token = 0;
    a.devices[0].memory.kv_cache = 0;
    a.devices[0].memory.recurrent_state = 95 * mib;
    a.compute_basis = Basis::modelled;
    a.compute_error = 300 * mib;
    const std::string text = render_text(a, utf8_pipe());
    CHECK(!contains(text, "KV"));
    CHECK(contains(text, "\n  state       95 MiB  ▏                 recurrent layers\n")); // 0.87 eighths
    CHECK(contains(text, "\n  compute    0.1 GiB  ▏                 modelled, +0.3 GiB at most\n"));
}

TEST_CASE("text: largest contexts") {
    Answer a = fitting_answer();
    a.max_ctx = {40960, 40960, ContextLimit::memory};
    CHECK(contains(render_text(a, utf8_pipe()), "\n  largest context: 40960\n"));
    a.max_ctx = {0, 8192, ContextLimit::memory};
    CHECK(contains(render_text(a, utf8_pipe()), "\n  largest context: 8192, and that is tight\n"));
    a.max_ctx = {4096, 4096, ContextLimit::setting};
    CHECK(contains(render_text(a, utf8_pipe()), "\n  largest context: 4096 (the settings allow no more)\n"));
}

TEST_CASE("text: equal devices are counted") {
    Answer a = fitting_answer();
    a.devices.push_back(a.devices[0]);
    a.devices.push_back(a.devices[0]);
    const std::string text = render_text(a, utf8_pipe());
    CHECK(contains(text, "  3 x 24GB, llama.cpp\n"));
    CHECK(contains(text, "\n  FIT   on all 3 GPUs\n"));
}

TEST_CASE("text: more than two devices have a bar each") {
    Answer a = split_answer();
    a.devices.push_back(device("12GB", 12 * gib, {6 * gib, 2 * gib + 512 * mib, 0, 512 * mib}, Verdict::fit));
    const std::string text = render_text(a, ascii_pipe());
    // 6 + 2.5 + 0.5 + 0.73 of 12 GiB: 51 of 64 characters.
    CHECK(contains(text, "\n\n  GPU 2: 12GB   FIT   9.7 of 12.0 GiB, 2.3 GiB free\n    " + std::string(51, '#') +
                             std::string(13, '.') +
                             "\n    weights 6.0 GiB, KV cache 2.5 GiB, compute 0.5 GiB, overhead 0.7 GiB\n"));
    CHECK(contains(text, "\n  GPU 0: 4GB   OOM   5.0 of 4.0 GiB, 1.0 GiB too much\n    " + std::string(51, '#') +
                             std::string(13, '.') + "\n")); // 4 of 5.0 GiB
}

TEST_CASE("text: readable in 80 columns with up to 64 devices") {
    for (const std::size_t n : {1, 2, 4, 8, 64}) {
        Answer a = fitting_answer();
        a.devices.resize(n, a.devices[0]);
        const std::string text = render_text(a, utf8_pipe());
        INFO(text);
        CHECK(widest_line(text, cli::display_width) <= 80);
        const std::size_t lines = split(text, "\n").size();
        CHECK(lines <= (n <= 2 ? 12 + 9 * n : 12 + 4 * n));
    }
}

TEST_CASE("text: at most three suggestions, and 80 columns whatever comes") {
    Answer a = failing_answer();
    a.model.id = std::string(50, 'm');
    a.devices[0].name = std::string(40, 'g');
    a.devices[0].memory.weights = 1500 * gib; // wider than usual
    a.compute_basis = Basis::modelled;
    a.compute_error = 1200 * gib;
    a.notes = {"a note that is as long as a note can possibly be without being a novel, and then some words more"};
    a.suggestions.insert(a.suggestions.end(), 3, a.suggestions[0]);
    a.suggestions[0].command += " -ctk q8_0 -ctv q8_0 --no-kv-offload --n-cpu-moe 12";
    const std::string text = render_text(a, utf8_pipe());
    CHECK(widest_line(text, cli::display_width) <= 80);
    CHECK(split(text, "a context of 15104").size() == 4 - 1); // two of the three that are shown are of that kind
    CHECK(contains(text, "-c 15104 -ngl 99 -ctk q8_0 -ctv q8_0 \\\n       --no-kv-offload --n-cpu-moe 12\n"));
    CHECK(contains(text, "\n  note: a note that is"));
}

TEST_CASE("text: 80 columns for awkward devices") {
    constexpr std::uint64_t most = std::uint64_t{1} << 62U;
    Answer several = split_answer();
    for (int i = 0; i < 12; ++i) {
        const std::string name = std::string(10 * static_cast<std::size_t>(i), 'n') + std::to_string(i);
        several.devices.push_back(device(name, 4 * gib, {3 * gib, gib / 2, 0, 0}, Verdict::tight));
        several.devices.back().wanted = i % 2 == 0 ? most : gib;
        several.devices.back().error = most;
        several.devices.back().available -= gib;
        several.devices.back().reserve = gib;
    }
    Answer huge = llama_answer("4294967296GB", most, Verdict::tight);
    huge.model.id = std::string(100, 'm');
    huge.settings.n_ctx_per_seq = 1;
    huge.settings.type_v = TensorType::iq4_nl;
    huge.devices[0].available = most - 1;
    huge.devices[0].reserve = most / 2;
    huge.devices[0].memory.weights = huge.devices[0].required = most / 4 * 3;
    huge.devices[0].headroom = static_cast<std::int64_t>(most / 4);
    huge.devices[0].overhead = most / 2;
    huge.devices[0].overhead_high = most;
    huge.kv_bytes_per_token = most - 1;
    huge.compute_basis = Basis::modelled;
    huge.compute_error = most;
    huge.host.weights = huge.host.kv_cache = most / 4;
    huge.max_ctx = {2147483647, 2147483648, ContextLimit::memory};
    Answer tight = failing_answer();
    tight.verdict = Verdict::tight;
    for (const Answer& answer : {several, huge, tight, refused_answer()}) {
        for (const auto& terminal : {ascii_pipe(), utf8_pipe().with(cli::ColorMode::always)}) {
            const std::string text = render_text(answer, terminal);
            INFO(text);
            CHECK(widest_line(text, cli::display_width) <= 80);
            CHECK(!contains(text, " \n"));
        }
    }
}
