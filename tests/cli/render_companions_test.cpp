#include "catch.hpp"
#include "cli/explain_companions.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/sample_answers.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::render_text;

namespace {

/// With projector and draft, each of 1.0 GiB on the GPU.
Answer accompanied() {
    Answer a = fitting_answer();
    a.projector =
        ProjectorAnswer{"mmproj.gguf", "gemma3", true, 896 * mib, 128 * mib, 10 * mib, 16 * mib, 0, Basis::exact};
    a.devices[0].memory.projector = gib;
    DraftAnswer draft;
    draft.model = "llama3.2-1b";
    draft.quant = "Q8_0";
    draft.weights = 700 * mib;
    draft.kv_cache = 256 * mib;
    draft.compute = 68 * mib;
    a.draft = draft;
    a.devices[0].memory.draft = gib;
    return a;
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("text: projector and draft have a bar each", "[companions]") {
    const std::string text = render_text(accompanied(), ascii_pipe());
    CHECK(holds(text, "\n  projector  1.0 GiB  #"));
    CHECK(holds(text, "modelled, +16 MiB at most\n"));
    CHECK(holds(text, "\n  draft      1.0 GiB  #"));
    CHECK(holds(text, "llama3.2-1b Q8_0\n"));
    CHECK(widest_line(text, cli::display_width) <= 80);
}

TEST_CASE("text: the computer's memory has a verdict where it is known, first where it is the worst", "[companions]") {
    Answer a = fitting_answer();
    const std::uint64_t required = a.host.total();
    a.ram = HostAnswer{64 * gib, 0, required, gib, static_cast<std::int64_t>(64 * gib - required), Verdict::fit};
    CHECK(holds(render_text(a, ascii_pipe()), "\n  RAM   FIT   0.3 of 64.0 GiB, 63.7 GiB free\n"));

    a.verdict = Verdict::oom;
    a.ram = HostAnswer{8 * gib, 0, 24 * gib, gib, -static_cast<std::int64_t>(16 * gib), Verdict::oom};
    const std::string text = render_text(a, ascii_pipe());
    const std::size_t ram = text.find("  RAM   OOM   24.0 of 8.0 GiB, 16.0 GiB too much\n");
    REQUIRE(ram != std::string::npos);
    CHECK(ram < text.find("  FIT   9.2 of 24.0 GiB"));

    a.devices.push_back(a.devices.front());
    CHECK(holds(render_text(a, ascii_pipe()), "  RAM   OOM   24.0 of 8.0 GiB"));
    CHECK_FALSE(holds(render_text(a, ascii_pipe()), "on 0 of 2 GPUs"));
}

TEST_CASE("explanations: what is loaded beside the model is added up", "[companions]") {
    Answer a = accompanied();
    a.adapters = {{"adapter.gguf", 2 * mib, 4}};
    CHECK(cli::companion_lines(a) ==
          std::vector<std::string>{
              "projector gemma3 on GPU 0: weights 896.00 + compute 128.00 = 1024.00 MiB, modelled, at most 16.00 MiB "
              "more",
              "draft llama3.2-1b Q8_0, everywhere: weights 700.00 + KV cache 256.00 + compute 68.00 = 1024.00 MiB",
              "adapter adapter.gguf: 4 tensors, 2.00 MiB"});
    CHECK(cli::companion_lines(fitting_answer()).empty());
}
