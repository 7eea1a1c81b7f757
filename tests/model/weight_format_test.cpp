#include "vramfit/model/weight_format.hpp"

#include "catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/catalog.hpp"

#include <set>

using namespace vramfit;

namespace {

// Llama 3.1 8B: 6979321856 weights in the matrices of its layers (32 x 4096 x (2 x 4096 + 2 x 1024 + 3 x 14336)),
// embeddings and output matrix of 128256 x 4096 = 525336576 each, and 65 norms of 4096. The rope factors are worked out.
constexpr std::uint64_t linear = 6979321856, matrix = 525336576, norms = 65 * 4096;

std::uint64_t bytes_of(std::string_view format) {
    return checkpoint_bytes(catalog_model("llama3.1-8b"), find_weight_format(format), false);
}

} // namespace

TEST_CASE("a checkpoint keeps embeddings, output matrix and norms in 16 bits") {
    CHECK(bytes_of("bf16") == 2 * (linear + 2 * matrix + norms));
    CHECK(bytes_of("f32") == 4 * (linear + 2 * matrix + norms));
    CHECK(bytes_of("fp8") == linear + 2 * (2 * matrix + norms));
    // 4 bits, 16 of scale and 4 of zero point for 128 weights: 4.15625 / 8 bytes.
    CHECK(bytes_of("awq") == linear / 256 * 133 + 2 * (2 * matrix + norms));
    CHECK(bytes_of("gptq") == bytes_of("awq"));
    CHECK(bytes_of("bnb-nf4") == linear / 16 * 9 + 2 * (2 * matrix + norms));
}

TEST_CASE("LLM.int8 has a 32-bit scale for each output row") {
    // A layer's rows: q and o 4096 each, k and v 1024 each, gate and up 14336 each, down 4096.
    constexpr std::uint64_t rows = 32ULL * (2 * 4096 + 2 * 1024 + 2 * 14336 + 4096);
    CHECK(bytes_of("bnb-int8") == linear + 4 * rows + 2 * (2 * matrix + norms));
}

TEST_CASE("MLX quantizes embeddings and output matrix as well") {
    CHECK(bytes_of("mlx-4bit") == (linear + 2 * matrix) / 16 * 9 + 2 * norms);
}

TEST_CASE("MXFP4 is for experts alone") {
    const Model model = catalog_model("gpt-oss-20b");
    std::uint64_t expected = 0;
    for (const Tensor& tensor : model.tensors) {
        const bool experts = model.name_of(tensor).find("_exps.weight") != std::string_view::npos;
        expected += experts ? tensor.n_elements() / 32 * 17 : 2 * tensor.n_elements();
    }
    CHECK(checkpoint_bytes(model, find_weight_format("mxfp4"), false) == expected);
}

TEST_CASE("names of formats: aliases, letter case, near matches") {
    CHECK(find_weight_format("FP8").id == "fp8");
    CHECK(find_weight_format("bitsandbytes").id == "bnb-nf4");
    CHECK(find_weight_format("awq_marlin").id == "awq");
    CHECK(weight_format_named("q4_k_m") == nullptr);
    CHECK_THROWS_AS(find_weight_format("no such"), Error);
    CHECK_THROWS_WITH(find_weight_format("zzzz"),
                      "unknown weight format \"zzzz\"; 'vramfit quants' lists all, such as bf16, fp8 or awq");
}

TEST_CASE("formats stand in the order of their size, and no name stands for two") {
    std::set<std::string> names;
    for (const WeightFormat& format : weight_formats()) {
        INFO(format.id);
        CHECK(names.insert(format.id).second);
        for (const std::string& alias : format.aliases) CHECK(names.insert(alias).second);
        CHECK(format.bits <= format.rest_bits);
        CHECK_FALSE(format.source.empty());
    }
}

TEST_CASE("models are published in 16 bits, or as the data says") {
    CHECK(published_format(catalog_model("llama3.1-8b")).id == "bf16");
    CHECK(published_format(catalog_model("gpt-oss-120b")).id == "mxfp4");
    CHECK(published_format(catalog_model("deepseek-v3-671b")).id == "fp8-block128");
}

TEST_CASE("of several devices each keeps its share of the matrices, and all of what is small") {
    const Model model = catalog_model("llama3.1-8b");
    for (const Tensor& tensor : model.tensors) {
        const std::string_view name = model.name_of(tensor);
        INFO(name);
        if (name == "attn_norm.weight") CHECK(rank_share(model, tensor, 4) == 1);
        if (name == "ffn_up.weight") CHECK(rank_share(model, tensor, 4) == 0.25);
        if (name == "attn_k.weight") CHECK(rank_share(model, tensor, 16) == 0.125); // one of 8 heads
        if (name == "attn_q.weight") CHECK(rank_share(model, tensor, 16) == 0.0625);
    }
}
