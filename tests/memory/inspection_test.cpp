#include "catch.hpp"
#include "support/errors.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/inspection.hpp"
#include "vramfit/model/catalog.hpp"

#include <algorithm>

using namespace vramfit;
using namespace vramfit::test;

namespace {

constexpr TensorType f16 = TensorType::f16;
constexpr TensorType q8_0 = TensorType::q8_0;

Inspection inspect_catalog(const char* id, std::optional<FileType> type = {}) {
    return inspect(catalog_model(id), type, {q8_0, f16});
}

std::uint64_t figure(const Inspection& inspection, std::string_view name) {
    const auto found = std::ranges::find(inspection.shape, name, &ShapeFigure::name);
    return found == inspection.shape.end() ? 0 : found->most;
}

} // namespace

TEST_CASE("inspection: plain attention", "[inspection]") {
    const Inspection i = inspect_catalog("llama3.1-8b", FileType::q4_k_m);
    CHECK(figure(i, "n_embd") == 4096);
    CHECK(figure(i, "n_head") == 32);
    CHECK(figure(i, "n_head_kv") == 8);
    CHECK(figure(i, "n_embd_head_k") == 128);
    CHECK(figure(i, "n_vocab") == 128256);
    CHECK(figure(i, "n_expert") == 0);
    REQUIRE(i.layers.size() == 1);
    CHECK(i.layers[0].layers == 32);
    CHECK(i.layers[0].caches == std::vector<std::string>{"full"});
    CHECK(i.file_type == "Q4_K_M");
    CHECK(i.tensor_bytes == 4912898304); // its published file, without the head
    REQUIRE(i.caches.size() == 2);
    CHECK(i.caches[0].type == f16); // largest first
    CHECK(i.caches[0].bytes_per_token == 2 * 32 * 1024 * 2);
    CHECK(i.caches[1].bytes_per_token == 2 * 32 * 1024 / 32 * 34);
    CHECK(i.caches[0].trained_bytes == 16 * gib);
    CHECK(i.caches[0].window_bytes == 0);
    CHECK(i.state_bytes == 0);
}

TEST_CASE("inspection: windows keep a constant part", "[inspection]") {
    const Inspection i = inspect_catalog("gemma3-27b");
    REQUIRE(i.layers.size() == 2);
    // 5 of 6 layers have a window of 1024; 62 layers of 16 KV heads of 128.
    CHECK(i.layers[0].caches == std::vector<std::string>{"swa"});
    CHECK(i.layers[0].layers == 52);
    CHECK(i.layers[1].caches == std::vector<std::string>{"non_swa"});
    CHECK(i.layers[1].layers == 10);
    CHECK(figure(i, "n_swa") == 1024);
    CHECK(i.caches[0].bytes_per_token == 2 * 10 * 2048 * 2);
    CHECK(i.caches[0].window_bytes == std::uint64_t{2} * 52 * 2048 * 2 * (1024 + 512));
    CHECK(i.file_type == "F16");
}

TEST_CASE("inspection: recurrent state and experts", "[inspection]") {
    const Inspection i = inspect_catalog("qwen3-next-80b-a3b");
    REQUIRE(i.layers.size() == 2);
    CHECK(i.layers[0].caches == std::vector<std::string>{"recurrent"});
    CHECK(i.layers[0].layers == 36); // every fourth of 48 has attention
    CHECK(i.layers[0].experts);
    CHECK(i.layers[1].layers == 12);
    CHECK(i.caches[0].bytes_per_token == 2 * 12 * 512 * 2); // 2 KV heads of 256
    // 36 x (3 x 8192 values of convolution + 32 heads of 128 x 128), f32
    CHECK(i.state_bytes == std::uint64_t{36} * 4 * (3 * 8192 + 32 * 128 * 128));
}

TEST_CASE("inspection: MTP blocks are a kind of their own", "[inspection]") {
    const Inspection i = inspect_catalog("qwen3-next-80b-a3b+mtp");
    CHECK(figure(i, "n_layer_nextn") == 1);
    REQUIRE(i.layers.size() == 3);
    CHECK(i.layers[2].mtp);
    CHECK(i.layers[2].layers == 1);
    CHECK_FALSE(i.layers[1].mtp);
}

TEST_CASE("inspection: cache types that llama.cpp refuses for a model", "[inspection]") {
    const Inspection i = inspect_catalog("phi-2"); // heads of 80: no whole blocks of 32
    CHECK_FALSE(i.caches[0].refusal);
    CHECK(i.caches[1].refusal == "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80");
}
