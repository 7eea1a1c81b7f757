#include "answer/ask.hpp"
#include "catch.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/sample_answers.hpp"
#include "support/data_file.hpp"
#include "support/errors.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::render_text;

// Whole answers of the estimator as a person reads them: nothing in them is put together by hand.

namespace {

/// What follows the figures.
std::string advice_of(const Request& request) {
    const std::string text = render_text(answer(request), utf8_pipe());
    CHECK(widest_line(text, cli::display_width) <= 80);
    return text.substr(text.find("\n  largest context"));
}

std::string without_colors(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\033')
            i = text.find('m', i);
        else
            plain += text[i];
    }
    return plain;
}

} // namespace

// Llama 3.1 8B with 128K: 4.3 GiB of weights, 16.0 of cache (32 layers x 2 x 8 heads x 128 x 2 bytes x 131072), 0.2 of
// compute buffer and 0.7 of overhead make 21.3 GiB. A token takes 129 KiB, so the suggested contexts save
// 115968 x 129 KiB = 14.3 GiB and 50944 x 129 KiB = 6.3 GiB.

TEST_CASE("advice: 8B at 128K on 8 GB") {
    CHECK(advice_of(llama_8b(131072, "8GB")) == R"(
  largest context: 15104 (tight up to 23040)

  llama.cpp will say, when it creates the context:
    allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory;
    failed to allocate buffer for kv cache

  what helps:
    FIT     -14.3 GiB  a context of 15104 instead of 131072: -c 15104
    FIT     -14.9 GiB  8 of 33 layers on the GPU, the others on the CPU (much
                       slower): -ngl 8
    FIT     -15.6 GiB  the smaller llama3.2-1b of the same family:
                       -m llama3.2-1b-Q4_K_M.gguf

  run: llama-server -m MODEL.gguf -c 15104 -ngl 99
)");
}

TEST_CASE("advice: 8B at 128K on 12 GB") {
    CHECK(advice_of(llama_8b(131072, "12GB")) == R"(
  largest context: 47616 (tight up to 55552)

  llama.cpp will say, when it creates the context:
    allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory;
    failed to allocate buffer for kv cache

  what helps:
    FIT     -10.3 GiB  a context of 47616 instead of 131072: -c 47616
    FIT     -11.1 GiB  the KV cache in q4_0 (some loss of quality; needs flash
                       attention): -ctk q4_0 -ctv q4_0
    FIT     -10.5 GiB  15 of 33 layers on the GPU, the others on the CPU (much
                       slower): -ngl 15

  run: llama-server -m MODEL.gguf -c 47616 -ngl 99
)");
}

TEST_CASE("advice: 8B at 128K on 16 GB") {
    CHECK(advice_of(llama_8b(131072, "16GB")) == R"(
  largest context: 80128 (tight up to 88064)

  llama.cpp will say, when it creates the context:
    allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory;
    failed to allocate buffer for kv cache

  what helps:
    FIT      -6.3 GiB  a context of 80128 instead of 131072: -c 80128
    FIT      -7.1 GiB  the KV cache in q8_0 (close to lossless; needs flash
                       attention): -ctk q8_0 -ctv q8_0
    FIT      -6.8 GiB  21 of 33 layers on the GPU, the others on the CPU (much
                       slower): -ngl 21

  run: llama-server -m MODEL.gguf -c 80128 -ngl 99
)");
}

TEST_CASE("advice: 8B at 128K on 24 GB needs none") {
    CHECK(advice_of(llama_8b(131072, "24GB")) == R"(
  largest context: 131072 (all the model was trained for)
  run: llama-server -m MODEL.gguf -c 131072 -ngl 99
)");
}

TEST_CASE("advice: a model that never fits") {
    // Overhead alone, 450 MiB of driver and 300 of process, is more than the card has.
    CHECK(advice_of(question("llama3.1-405b", "f16", 131072, "700MiB")) == R"(
  largest context: none fits

  llama.cpp will say, when it loads the model:
    allocating 770103.81 MiB on device 0: cudaMalloc failed: out of memory;
    unable to allocate CUDA0 buffer

  note: nothing that can be changed here makes it fit: a GPU with 818 GiB, or a
        smaller model, is needed
)");
}

TEST_CASE("advice: a model that always fits") {
    CHECK(advice_of(question("smollm2-135m", "q4_k_m", 8192, "4GB")) == R"(
  largest context: 8192 (all the model was trained for)
  run: llama-server -m MODEL.gguf -c 8192 -ngl 99
)");
}

TEST_CASE("advice: windows keep the cache of Gemma 3 small") {
    // 5 of 34 layers see everything, 4 heads x 256 x 2 x 2 bytes = 4 KiB a token each: 2560 MiB at 131072. The others
    // keep a window of 1024 for each of 4 slots and a batch of 512, 4608 cells: 29 x 4 KiB x 4608 = 522 MiB.
    const Answer a = answer(question("gemma3-4b", "q4_k_m", 131072, "8GB"));
    CHECK(a.devices.at(0).memory.kv_cache == (2560 + 522) * mib);
    CHECK(a.max_ctx.limited_by == ContextLimit::model);
    CHECK(a.max_ctx.fit == 131072);
    CHECK(a.verdict == Verdict::fit);
    // Of llama's kind the cache would be 34 x 4 KiB x 131072 = 17 GiB.
}

TEST_CASE("advice: to Mamba a context is free") {
    // 64 layers, each with 3 x 5120 of convolution and 16 x 5120 of state in f32, for 4 slots: 95 MiB at any context.
    for (const std::uint64_t n_ctx : {256, 2048, 1000192}) {
        const Answer a = answer(question("mamba-2.8b", "q4_k_m", n_ctx, "6GB"));
        CHECK(a.devices.at(0).memory.recurrent_state == 95 * mib);
        CHECK(a.devices.at(0).memory.kv_cache == 0);
        CHECK(a.verdict == Verdict::fit);
        CHECK(a.max_ctx.limited_by == ContextLimit::model);
    }
}

TEST_CASE("advice: colour is all that a terminal adds") {
    for (const char* gpu : {"700MiB", "8GB", "12GB", "24GB"}) {
        const Answer a = answer(llama_8b(131072, gpu));
        const std::string colored = render_text(a, utf8_pipe().with(cli::ColorMode::always));
        CHECK(without_colors(colored) == render_text(a, utf8_pipe()));
        CHECK(colored != render_text(a, utf8_pipe()));
    }
    const std::string colored = render_text(answer(llama_8b(131072, "8GB")), utf8_pipe().with(cli::ColorMode::always));
    CHECK(contains(colored, "    \033[1;32mFIT\033[0m     -14.3 GiB  a context of 15104"));
}
