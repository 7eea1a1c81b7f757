#include "vramfit/memory/auto_batch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

using namespace vramfit;

namespace {

AutoBatch ollama() { return find_runtime("ollama").auto_batch.value(); }

/// The choice for a context of `n_ctx` cells where 10 of 100 GiB would be needed.
std::uint64_t batch_of(std::uint64_t n_ctx) {
    BatchQuestion q;
    q.n_ctx = n_ctx;
    q.predicted = 10 * gib;
    q.free = q.smallest = 100 * gib;
    return automatic_batch(ollama(), q);
}

} // namespace

TEST_CASE("Ollama's batch grows with the context") {
    // server/sched.go, generationBatchForContext: 2048 above 32768 cells, 1024 above 4096, else 512.
    CHECK(batch_of(4096) == 512);
    CHECK(batch_of(4097) == 1024);
    CHECK(batch_of(32768) == 1024);
    CHECK(batch_of(32769) == 2048);
}

TEST_CASE("Ollama's batch steps down where memory is short") {
    BatchQuestion q;
    q.n_ctx = 65536;
    q.free = q.smallest = 100 * gib;
    q.predicted = 60 * gib; // the most for 2048: 60 %
    CHECK(automatic_batch(ollama(), q) == 2048);
    q.predicted = 60 * gib + 1;
    CHECK(automatic_batch(ollama(), q) == 1024);
    q.predicted = 75 * gib; // the most for 1024: 75 %
    CHECK(automatic_batch(ollama(), q) == 1024);
    q.predicted = 75 * gib + 1;
    CHECK(automatic_batch(ollama(), q) == 512);
    // 2 GiB more for 2048 and 768 MiB more for 1024 must stay within 80 % of what is free: of 8 GiB that is 6.4 GiB.
    q.free = 8 * gib;
    q.predicted = 44 * gib / 10;
    CHECK(automatic_batch(ollama(), q) == 2048);
    q.predicted = 45 * gib / 10;
    CHECK(automatic_batch(ollama(), q) == 1024);
    q.free = 10 * gib; // 8 GiB, of which 7.5 is the share for 1024 and 7.25 + 0.75 the last that goes in
    q.predicted = 7 * gib + gib / 4;
    CHECK(automatic_batch(ollama(), q) == 1024);
    q.predicted += 1;
    CHECK(automatic_batch(ollama(), q) == 512);
}

TEST_CASE("without flash attention on CUDA Ollama's batch is 512, and 256 on GPUs of up to 8 GiB") {
    BatchQuestion q;
    q.n_ctx = 65536;
    q.free = 100 * gib;
    q.smallest = 8 * gib;
    q.cuda_without_flash_attn = true;
    CHECK(automatic_batch(ollama(), q) == 256);
    q.smallest += 1;
    CHECK(automatic_batch(ollama(), q) == 512);
    q.smallest = 8 * gib;
    q.n_ctx = 4096;
    CHECK(automatic_batch(ollama(), q) == 512);
}

TEST_CASE("embeddings are read 2048 tokens at a time, at most the context") {
    BatchQuestion q;
    q.embeddings = true;
    q.n_ctx = 8192;
    CHECK(automatic_batch(ollama(), q) == 2048);
    q.n_ctx = 512;
    CHECK(automatic_batch(ollama(), q) == 512);
}

TEST_CASE("what Ollama predicts: the file and a 16-bit cache of every layer") {
    // 2 caches * 32 layers * 8 heads * 128 * 2 bytes = 131072 a token
    CHECK(predicted_memory(catalog_model("llama3.1-8b"), 1000, 8192) == 1000 + 8192 * 131072ULL);
    // Gemma 3 4B: 2 * 34 * 4 * 256 * 2 = 139264 a token, sliding windows or not
    CHECK(predicted_memory(catalog_model("gemma3-4b"), 0, 131072) == 131072 * 139264ULL);
}
