#include "vramfit/memory/settings.hpp"

#include "support/errors.hpp"

#include "catch.hpp"

using namespace vramfit;
using test::error_of;

namespace {

ContextPlan plan(std::uint64_t n_ctx, std::uint64_t n_seq_max = 1, bool kv_unified = false) {
    Settings s;
    s.n_ctx = n_ctx;
    s.n_seq_max = n_seq_max;
    s.kv_unified = kv_unified;
    return plan_context(s, 131072);
}

} // namespace

TEST_CASE("a context is rounded up to 256 cells") {
    CHECK(plan(8192).n_ctx == 8192);
    CHECK(plan(8193).n_ctx == 8448);
    CHECK(plan(1).n_ctx == 256);
    CHECK(plan(1000).n_ctx == 1024);
    CHECK(plan(1000).n_ctx_seq == 1024);
}

TEST_CASE("no context given: what the model was trained for") { CHECK(plan(0).n_ctx == 131072); }

TEST_CASE("separate sequences share the context, and each share is rounded up") {
    // 10000 -> 10240; a third, rounded down: 3413 -> 3584; three of them: 10752 (llama.cpp's log says "rounding down")
    const ContextPlan c = plan(10000, 3);
    CHECK(c.n_ctx_seq == 3584);
    CHECK(c.n_ctx == 10752);
    CHECK(c.n_stream == 3);
    CHECK(c.n_seqs == 3);
    CHECK(plan(8192, 4).n_ctx_seq == 2048);
    CHECK(plan(8192, 4).n_ctx == 8192);
    CHECK(plan(256, 8).n_ctx_seq == 256); // 32 -> 256
    CHECK(plan(256, 8).n_ctx == 2048);
}

TEST_CASE("unified sequences have one cache of the whole context") {
    const ContextPlan c = plan(10000, 3, true);
    CHECK(c.n_ctx == 10240);
    CHECK(c.n_ctx_seq == 10240);
    CHECK(c.n_stream == 1);
    CHECK(c.n_seqs == 3);
}

TEST_CASE("a batch is no longer than the context as asked for, a ubatch no longer than the batch") {
    Settings s;
    s.n_ctx = 1000; // before rounding
    ContextPlan c = plan_context(s, 4096);
    CHECK(c.n_batch == 1000);
    CHECK(c.n_ubatch == 512);
    s.n_ubatch = 4096;
    c = plan_context(s, 4096);
    CHECK(c.n_ubatch == 1000);
    s.n_ctx = 8192;
    s.n_batch = 256;
    CHECK(plan_context(s, 8192).n_ubatch == 256);
}

TEST_CASE("the worst prompt is a ubatch, rounded up to a multiple of the sequences") {
    CHECK(plan(8192).n_tokens == 512);
    CHECK(plan(8192, 3).n_tokens == 513);
    CHECK(plan(8192, 8).n_tokens == 512);
    CHECK(plan(300).n_tokens == 300);
}

TEST_CASE("outputs: a batch's unless fewer are reserved, never more than a ubatch has tokens") {
    Settings s;
    s.n_ctx = 8192;
    CHECK(plan_context(s, 8192).n_outputs == 512);
    s.n_outputs_max = 4; // llama-server: its slots
    CHECK(plan_context(s, 8192).n_outputs == 4);
    s.n_outputs_max = 4096;
    CHECK(plan_context(s, 8192).n_outputs == 512);
}

TEST_CASE("a context that cannot be made is an error that says what would be right") {
    CHECK(error_of([] { plan_context({}, 0); }) ==
          "a context of 0 tokens is impossible; 1 to 2147483647 would be right");
    CHECK(error_of([] { plan(2147483648); }) ==
          "a context of 2147483648 tokens is impossible; 1 to 2147483647 would be right");
    CHECK(error_of([] { plan(8192, 0); }) == "0 parallel sequences are impossible; 1 to 256 would be right");
    CHECK(error_of([] { plan(8192, 257); }) == "257 parallel sequences are impossible; 1 to 256 would be right");
    Settings s;
    s.n_ctx = 8192;
    s.n_ubatch = 0;
    CHECK(error_of([&] { plan_context(s, 8192); }) == "a batch of 0 tokens is impossible");
    CHECK(plan(2147483647).n_ctx == 2147483648); // rounded up, counted in 64 bits
}
