#include "ask.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

Failure failure_on(const std::string& gpu, std::uint64_t n_ctx) {
    const Answer a = answer(llama_8b(n_ctx, gpu));
    REQUIRE(a.verdict == Verdict::oom);
    REQUIRE(a.failure);
    CHECK(a.failure->at_tokens == std::nullopt); // llama.cpp reserves everything before the first token
    return *a.failure;
}

} // namespace

TEST_CASE("weights that do not fit fail while loading") {
    const Failure f = failure_on("5000MiB", 8192); // 750 are lost: 4250 for 4403.49
    CHECK(f.when == "load");
    CHECK(f.message ==
          "allocating 4403.49 MiB on device 0: cudaMalloc failed: out of memory; unable to allocate CUDA0 buffer");
}

TEST_CASE("a cache that does not fit fails when the context is made") {
    const Failure f = failure_on("8GB", 65536);
    CHECK(f.when == "context");
    CHECK(f.message == "allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory; failed to allocate "
                       "buffer for kv cache");
}

TEST_CASE("a compute buffer that does not fit fails last") {
    const Failure f = failure_on("6200MiB", 8192); // 22.5 MiB are left of 6200 - 750 - 4403.49 - 1024
    CHECK(f.when == "context");
    CHECK(f.message == "allocating 116.01 MiB on device 0: cudaMalloc failed: out of memory; failed to allocate "
                       "compute pp buffers");
}

TEST_CASE("the device that fails is named as the backend names it") {
    const Failure f = failure_on("m1-8gb", 65536);
    CHECK(f.message.find("ggml_metal: error: failed to allocate buffer, size = 8192.00 MiB") == 0);
}
