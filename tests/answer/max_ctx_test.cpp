#include "ask.hpp"

#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

struct Case {
    const char* gpu;
    std::uint64_t fit, tight;
};

Verdict verdict_at(Request request, std::uint64_t n_ctx) {
    request.n_ctx = n_ctx;
    return answer(request).verdict;
}

/// The largest contexts have their verdicts, and the next ones have not.
void check_proved(const Request& request) {
    const Answer a = answer(request);
    const MaxContext& max = a.max_ctx;
    const std::uint64_t n_stream = a.settings.kv_unified ? 1 : a.settings.parallel;
    const std::uint64_t trained = a.model.context_length * n_stream;
    INFO(request.model << " on " << request.gpus[0] << ": " << max.fit << ' ' << max.tight);
    CHECK(max.fit <= max.tight);
    CHECK(max.tight <= trained);
    if (max.fit > 0) CHECK(verdict_at(request, max.fit) == Verdict::fit);
    if (max.fit < trained) CHECK(verdict_at(request, max.fit + 256 * n_stream) != Verdict::fit);
    if (max.tight > 0) CHECK(verdict_at(request, max.tight) <= Verdict::tight);
    if (max.tight < trained) CHECK(verdict_at(request, max.tight + 256 * n_stream) == Verdict::oom);
    CHECK((max.limited_by == ContextLimit::model) == (max.fit == trained));
}

} // namespace

TEST_CASE("the largest context of Llama 3.1 8B, worked out by hand") {
    // 4403.49 + 108.01 + 750 MiB, and 129 KiB a token; fit leaves 1 GiB. Multiples of 256.
    for (const Case& c : {Case{"8GB", 15104, 23040}, {"12GB", 47616, 55552}, {"16GB", 80128, 88064}}) {
        INFO(c.gpu);
        const MaxContext max = answer(llama_8b(8192, c.gpu)).max_ctx;
        CHECK(max.fit == c.fit);
        CHECK(max.tight == c.tight);
        CHECK(max.limited_by == ContextLimit::memory);
    }
    const MaxContext all = answer(llama_8b(8192, "24GB")).max_ctx;
    CHECK(all.fit == 131072);
    CHECK(all.tight == 131072);
    CHECK(all.limited_by == ContextLimit::model);
    const MaxContext none = answer(llama_8b(8192, "4GB")).max_ctx;
    CHECK(none.fit == 0);
    CHECK(none.tight == 0);
    CHECK(none.limited_by == ContextLimit::memory);
}

TEST_CASE("llama-cli's compute buffer takes of the context") {
    // 4403.49 + 258.50 + 750 MiB and 128 KiB a token: the logits outweigh everything else.
    Request request = llama_8b(8192, "12GB");
    request.runtime = "llama-cli";
    CHECK(answer(request).max_ctx.fit == 46592);
    CHECK(answer(request).max_ctx.tight == 54784);
}

TEST_CASE("the largest context is proved, for every kind of cache") {
    check_proved(question("llama3.1-8b", "q8_0", 8192, "12GB"));
    check_proved(question("gemma3-12b", "q4_k_m", 8192, "12GB"));       // sliding windows
    check_proved(question("gpt-oss-20b", "mxfp4_moe", 8192, "14GB"));   // windows in turn
    check_proved(question("mamba-2.8b", "q8_0", 1024, "4GB"));          // state alone: context is free
    check_proved(question("deepseek-v2-lite", "q4_k_m", 8192, "12GB")); // MLA
    check_proved(question("falcon-h1-7b", "q4_k_m", 8192, "8GB"));      // state and attention in each layer
    Request slots = llama_8b(8192, "12GB");
    slots.parallel = 3;
    check_proved(slots);
    Request no_fa = llama_8b(8192, "12GB");
    no_fa.flash_attn = FlashAttention::off;
    check_proved(no_fa);
    Request two = question("qwen2.5-32b", "q4_k_m", 8192, "12GB");
    two.gpus.push_back("16GB");
    check_proved(two);
}

TEST_CASE("without a context the largest that fits is used") {
    Request request = llama_8b(0, "8GB");
    request.n_ctx.reset();
    const Answer a = answer(request);
    CHECK(a.settings.n_ctx == 15104);
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.max_ctx.fit == 15104);
    CHECK(a.max_ctx.tight == 23040);
    CHECK(has_note(a, "this is the largest that fits"));
    CHECK(a.command == "llama-server -m MODEL.gguf -c 15104 -ngl 99");

    request.gpus = {"5400MiB"}; // 138.5 MiB beyond 5261.5: tight only
    const Answer tight = answer(request);
    CHECK(tight.settings.n_ctx == 1024);
    CHECK(tight.verdict == Verdict::tight);
    CHECK(has_note(tight, "fits tightly"));

    request.gpus = {"4GB"};
    const Answer none = answer(request);
    CHECK(none.settings.n_ctx == 4096);
    CHECK(none.verdict == Verdict::oom);
    CHECK(has_note(none, "not even 256 tokens fit"));
}

TEST_CASE("a context of 0 is the trained one, and more than that is allowed with a note") {
    CHECK(answer(llama_8b(0, "24GB")).settings.n_ctx == 131072);
    const Answer a = answer(llama_8b(262144, "80GB"));
    CHECK(a.verdict == Verdict::fit);
    CHECK(has_note(a, "more than the 131072 that the model was trained for"));
    CHECK(a.max_ctx.fit == 131072);
}
