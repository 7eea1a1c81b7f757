// LoRA adapters: their bytes where the adapted matrices lie, and the files that llama.cpp refuses.

#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/adapter.hpp"
#include "vramfit/model/catalog.hpp"

namespace vramfit {
namespace {

GgufTensor tensor(std::string name, std::uint64_t ne0, std::uint64_t ne1) {
    GgufTensor t;
    t.name = std::move(name);
    t.type = TensorType::f32;
    t.ne = {ne0, ne1, 1, 1};
    t.bytes = 4 * ne0 * ne1;
    return t;
}

GgufHeader file_of(std::vector<GgufTensor> tensors, std::string architecture = "llama") {
    GgufHeader h;
    h.file = "\"adapter.gguf\"";
    h.kind = GgufKind::adapter;
    GgufValue value;
    value.key = "general.architecture";
    value.is_text = true;
    value.text = std::move(architecture);
    h.values = {value};
    h.tensors = std::move(tensors);
    return h;
}

/// Rank 9 on the query matrix of block 3 of Llama 3.1 8B, which is 4096 x 4096.
std::vector<GgufTensor> query_pair() {
    return {tensor("blk.3.attn_q.weight.lora_a", 4096, 9), tensor("blk.3.attn_q.weight.lora_b", 9, 4096)};
}

const Model& llama() {
    static const Model model = catalog_model("llama3.1-8b");
    return model;
}

} // namespace

TEST_CASE("a LoRA adapter's pairs are found and counted with their padding", "[adapter]") {
    std::vector<GgufTensor> tensors = query_pair();
    tensors.push_back(tensor("blk.0.ffn_norm.weight", 4096, 1)); // passed over
    tensors.push_back(tensor("blk.0.attn_k.weight.lora_a", 4096, 1));
    tensors.push_back(tensor("blk.0.attn_k.weight.lora_b", 1, 1024));
    const LoraAdapter adapter = read_adapter(file_of(tensors), llama());
    REQUIRE(adapter.pairs.size() == 2);
    const LoraAdapter::Pair& key = adapter.pairs[0];
    CHECK(llama().full_name_of(llama().tensors[key.tensor]) == "blk.0.attn_k.weight");
    CHECK(key.device_bytes == 4 * 4096 + 4 * 1024);
    const LoraAdapter::Pair& query = adapter.pairs[1];
    CHECK(query.device_bytes == 2 * 4 * 9 * 4096); // 147456, multiples of 128
    CHECK(adapter.widest() == 4096 + 9);           // its products for a token: nine, then as many as the matrix gives
}

TEST_CASE("what llama.cpp refuses as a LoRA adapter is refused in one line", "[adapter]") {
    const auto read = [](const GgufHeader& header) { return read_adapter(header, llama()); };
    GgufHeader model = file_of({});
    model.kind = GgufKind::model;
    CHECK_THROWS_WITH(read(model), "\"adapter.gguf\" is a model, no LoRA adapter");
    CHECK_THROWS_WITH(read(file_of(query_pair(), "qwen2")),
                      "\"adapter.gguf\" adapts models of the architecture \"qwen2\", llama3.1-8b is of llama");
    CHECK_THROWS_WITH(read(file_of({tensor("blk.3.attn_q.weight.lora_a", 4096, 9)})),
                      "\"adapter.gguf\": the pair of \"blk.3.attn_q.weight\" lacks its .lora_b");
    CHECK_THROWS_WITH(
        read(file_of({tensor("blk.99.attn_q.weight.lora_a", 4096, 9), tensor("blk.99.attn_q.weight.lora_b", 9, 4096)})),
        "\"adapter.gguf\" adapts \"blk.99.attn_q.weight\", which llama3.1-8b does not have");
    CHECK_THROWS_WITH(
        read(file_of({tensor("blk.3.attn_q.weight.lora_a", 2048, 9), tensor("blk.3.attn_q.weight.lora_b", 9, 4096)})),
        "\"adapter.gguf\": the shape of \"blk.3.attn_q.weight\" does not match that of llama3.1-8b");
    CHECK_THROWS_WITH(read(file_of({tensor("blk.3.attn_q.weight", 4096, 9)})),
                      "\"adapter.gguf\": \"blk.3.attn_q.weight\" is neither .lora_a nor .lora_b of a matrix");
}

} // namespace vramfit
