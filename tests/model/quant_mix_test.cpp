#include "vramfit/model/quant_mix.hpp"

#include "catch.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

using vramfit::FileType;
using vramfit::Model;
using vramfit::quant_mix;
using vramfit::QuantMix;
using vramfit::Tensor;
using vramfit::TensorType;
using T = vramfit::TensorType;

namespace {

struct Shape {
    std::uint32_t n_block = 32;
    double n_head_kv = 8; // of 32
    double n_expert = 0;
    std::uint64_t n_embd = 4096;
    bool output = true;
};

void add(Model& model, std::string_view name, std::int32_t layer, std::array<std::uint64_t, 4> ne, T type = T::f16) {
    const auto known = std::find(model.tensor_names.begin(), model.tensor_names.end(), name);
    Tensor tensor;
    tensor.name = static_cast<std::uint32_t>(known - model.tensor_names.begin());
    if (known == model.tensor_names.end()) {
        model.tensor_names.emplace_back(name);
    }
    tensor.layer = layer;
    tensor.ne = ne;
    tensor.type = type;
    model.tensors.push_back(tensor);
}

// A transformer with the tensors that the rules are about.
Model transformer(const Shape& shape = {}) {
    Model model;
    model.hparams.set("block_count", shape.n_block);
    model.hparams.set("attention.head_count", 32);
    model.hparams.set("attention.head_count_kv", shape.n_head_kv);
    model.hparams.set("expert_count", shape.n_expert);
    const std::uint64_t d = shape.n_embd;
    if (shape.output) {
        add(model, "output.weight", -1, {d, 1024, 1, 1});
    }
    add(model, "output_norm.weight", -1, {d, 1, 1, 1}, T::f32);
    add(model, "token_embd.weight", -1, {d, 1024, 1, 1});
    for (std::uint32_t i = 0; i < shape.n_block; ++i) {
        const auto layer = static_cast<std::int32_t>(i);
        for (const std::string_view name : {"attn_k.weight", "attn_output.weight", "attn_q.weight", "attn_v.weight"}) {
            add(model, name, layer, {d, d, 1, 1});
        }
        if (shape.n_expert > 0) {
            const auto n_expert = static_cast<std::uint64_t>(shape.n_expert);
            add(model, "ffn_down_exps.weight", layer, {d, d, n_expert, 1});
            add(model, "ffn_gate_exps.weight", layer, {d, d, n_expert, 1});
            add(model, "ffn_gate_inp.weight", layer, {d, n_expert, 1, 1}, T::f32);
            add(model, "ffn_up_exps.weight", layer, {d, d, n_expert, 1});
        } else {
            for (const std::string_view name : {"ffn_down.weight", "ffn_gate.weight", "ffn_up.weight"}) {
                add(model, name, layer, {d, d, 1, 1});
            }
        }
    }
    return model;
}

T type_of(const Model& model, const QuantMix& mix, std::string_view name, std::int32_t layer = -1) {
    for (std::size_t i = 0; i < mix.types.size(); ++i) {
        if (model.tensors[i].layer == layer && model.name_of(model.tensors[i]) == name) return mix.types[i];
    }
    FAIL("no tensor " << name);
    return T::f64;
}

// The blocks in which tensor `name` has `type`.
std::vector<int> blocks_of(const Model& model, const QuantMix& mix, std::string_view name, T type) {
    std::vector<int> blocks;
    for (std::size_t i = 0; i < mix.types.size(); ++i) {
        if (model.name_of(model.tensors[i]) == name && mix.types[i] == type) {
            blocks.push_back(model.tensors[i].layer);
        }
    }
    return blocks;
}

std::vector<int> range(int first, int last) {
    std::vector<int> blocks;
    for (int i = first; i <= last; ++i) {
        blocks.push_back(i);
    }
    return blocks;
}

// What Q4_K_M lifts in 32 blocks: the first and last eighth and every third between (seen in files of Llama 3.1 8B).
const std::vector<int> more_bits_of_32{0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31};

} // namespace

TEST_CASE("Q4_K_M lifts half of attn_v and ffn_down to q6_K") {
    const Model model = transformer();
    const QuantMix mix = quant_mix(model, "llama", FileType::q4_k_m, true);
    CHECK(blocks_of(model, mix, "attn_v.weight", T::q6_k) == more_bits_of_32);
    CHECK(blocks_of(model, mix, "ffn_down.weight", T::q6_k) == more_bits_of_32);
    CHECK(blocks_of(model, mix, "attn_q.weight", T::q4_k) == range(0, 31));
    CHECK(type_of(model, mix, "output.weight") == T::q6_k);
    CHECK(type_of(model, mix, "token_embd.weight") == T::q4_k);
    CHECK(type_of(model, mix, "output_norm.weight") == T::f32);
    CHECK(mix.n_fallback == 0);
    CHECK_FALSE(mix.refused);
}

TEST_CASE("the order in which a model lists its tensors makes no difference") {
    const Model model = transformer();
    Model reversed = model;
    std::reverse(reversed.tensors.begin(), reversed.tensors.end());
    std::reverse(reversed.tensor_names.begin(), reversed.tensor_names.end());
    for (Tensor& tensor : reversed.tensors) {
        tensor.name = static_cast<std::uint32_t>(reversed.tensor_names.size()) - 1 - tensor.name;
    }
    for (const auto& file_type : vramfit::file_types) {
        INFO(file_type.name);
        auto types = quant_mix(reversed, "llama", file_type.type, true).types;
        std::reverse(types.begin(), types.end());
        CHECK(types == quant_mix(model, "llama", file_type.type, true).types);
    }
}

TEST_CASE("block 10 comes after block 9, not after block 1") {
    Model model;
    model.hparams.set("block_count", 12);
    for (const int layer : {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}) {
        add(model, "attn_v.weight", layer, {256, 256, 1, 1});
    }
    const QuantMix mix = quant_mix(model, "llama", FileType::q4_k_s, true);
    CHECK(blocks_of(model, mix, "attn_v.weight", T::q5_k) == std::vector<int>{3, 2, 1, 0}); // the first four visited
}

TEST_CASE("tied embeddings are quantized as the output matrix") {
    const Model model = transformer({.output = false});
    CHECK(type_of(model, quant_mix(model, "llama", FileType::q4_k_m, true), "token_embd.weight") == T::q6_k);
    CHECK(type_of(model, quant_mix(model, "llama", FileType::iq2_m, true), "token_embd.weight") == T::q5_k);
    CHECK(type_of(model, quant_mix(model, "llama", FileType::q8_0, true), "token_embd.weight") == T::q8_0);
}

TEST_CASE("untied embeddings of the smallest types stay larger than the rest") {
    const Model model = transformer();
    const auto embedding = [&](FileType type) {
        return type_of(model, quant_mix(model, "llama", type, true), "token_embd.weight");
    };
    CHECK(embedding(FileType::iq1_s) == T::q2_k);
    CHECK(embedding(FileType::iq2_xs) == T::q2_k);
    CHECK(embedding(FileType::iq2_s) == T::iq3_s);
    CHECK(embedding(FileType::iq3_xxs) == T::iq3_s);
    CHECK(embedding(FileType::tq1_0) == T::q4_k);
    CHECK(embedding(FileType::q2_0) == T::q4_k);
    CHECK(embedding(FileType::q3_k_s) == T::q3_k);
}

TEST_CASE("an importance matrix changes the first ffn_down tensors") {
    const Model model = transformer();
    const auto first = [&](FileType type, bool imatrix) {
        const QuantMix mix = quant_mix(model, "llama", type, imatrix);
        return type_of(model, mix, "ffn_down.weight", 3);
    };
    CHECK(first(FileType::q4_0, true) == T::q4_1);
    CHECK(first(FileType::q4_0, false) == T::q4_0);
    CHECK(first(FileType::iq4_xs, true) == T::iq4_xs);
    CHECK(first(FileType::iq4_xs, false) == T::q5_k);
    const QuantMix mix = quant_mix(model, "llama", FileType::q4_0, true);
    CHECK(blocks_of(model, mix, "ffn_down.weight", T::q4_1) == range(0, 3));
}

TEST_CASE("grouped heads make attn_v small and therefore finer") {
    const auto attn_v = [](double n_head_kv) {
        const Model model = transformer({.n_head_kv = n_head_kv});
        return type_of(model, quant_mix(model, "llama", FileType::q2_k, true), "attn_v.weight", 0);
    };
    CHECK(attn_v(8) == T::q4_k);
    CHECK(attn_v(16) == T::q3_k);
    CHECK(attn_v(0) == T::q3_k); // a first layer without attention
}

TEST_CASE("what llama.cpp calls 70B gets q5_K for attn_v") {
    const auto attn_v = [](std::string_view arch, std::uint32_t n_block, double n_head_kv) {
        const Model model = transformer({.n_block = n_block, .n_head_kv = n_head_kv});
        return type_of(model, quant_mix(model, arch, FileType::iq3_m, true), "attn_v.weight", 5);
    };
    CHECK(attn_v("llama", 80, 8) == T::q5_k);
    CHECK(attn_v("qwen2", 80, 8) == T::q5_k);
    CHECK(attn_v("deci", 80, 8) == T::q5_k);
    CHECK(attn_v("llama", 80, 32) == T::q4_k); // LLaMA 65B
    CHECK(attn_v("llama", 79, 8) == T::q4_k);
    CHECK(attn_v("qwen3", 80, 8) == T::q4_k);
}

TEST_CASE("eight experts lift the attention, and experts count by block") {
    const Model model = transformer({.n_expert = 8});
    const QuantMix mix = quant_mix(model, "llama", FileType::q4_k_m, true);
    CHECK(blocks_of(model, mix, "attn_v.weight", T::q8_0) == range(0, 31));
    CHECK(blocks_of(model, mix, "attn_k.weight", T::q8_0) == range(0, 31));
    CHECK(blocks_of(model, mix, "attn_output.weight", T::q5_k) == range(0, 31));
    CHECK(blocks_of(model, mix, "ffn_down_exps.weight", T::q6_k) == more_bits_of_32);
    CHECK(blocks_of(model, mix, "ffn_gate_inp.weight", T::f32) == range(0, 31)); // the router is kept
}

TEST_CASE("MXFP4_MOE quantizes experts to mxfp4 and the rest to q8_0") {
    const Model model = transformer({.n_expert = 16});
    const QuantMix mix = quant_mix(model, "qwen3moe", FileType::mxfp4_moe, true);
    CHECK(blocks_of(model, mix, "ffn_up_exps.weight", T::mxfp4) == range(0, 31));
    CHECK(blocks_of(model, mix, "attn_q.weight", T::q8_0) == range(0, 31));
    CHECK(type_of(model, mix, "output.weight") == T::q8_0);
    CHECK(type_of(model, mix, "token_embd.weight") == T::q8_0);
}

TEST_CASE("Falcon has rules of its own") {
    const Model model = transformer();
    const QuantMix q4_k_m = quant_mix(model, "falcon", FileType::q4_k_m, true);
    CHECK(type_of(model, q4_k_m, "output.weight") == T::q8_0);
    CHECK(blocks_of(model, q4_k_m, "ffn_down.weight", T::q6_k) == range(0, 1));
    CHECK(type_of(model, q4_k_m, "ffn_down.weight", 2) == T::q5_k);
    CHECK(type_of(model, q4_k_m, "ffn_down.weight", 4) == T::q4_k);
    const QuantMix q3_k_l = quant_mix(model, "falcon", FileType::q3_k_l, true);
    CHECK(type_of(model, q3_k_l, "ffn_down.weight", 0) == T::q4_k);
    CHECK(type_of(model, q3_k_l, "attn_output.weight", 0) == T::q4_k);
    CHECK(type_of(model, quant_mix(model, "falcon", FileType::q2_k, true), "ffn_down.weight", 9) == T::q3_k);
}

TEST_CASE("IQ3_XS narrows the gates of the middle layers") {
    const Model model = transformer();
    const QuantMix mix = quant_mix(model, "llama", FileType::iq3_xs, true);
    CHECK(blocks_of(model, mix, "ffn_gate.weight", T::iq3_xxs) == range(4, 27));
    CHECK(blocks_of(model, mix, "ffn_up.weight", T::iq3_xxs) == range(4, 27));
    CHECK(blocks_of(model, mix, "attn_q.weight", T::iq3_xxs) == range(0, 31));
}

TEST_CASE("rows that a block does not divide fall back to smaller blocks") {
    // 896 columns (Qwen2.5 0.5B) are 28 blocks of 32 but no whole blocks of 256
    const Model model = transformer({.n_block = 8, .n_embd = 896});
    const auto attn_q = [&](FileType type) {
        return type_of(model, quant_mix(model, "qwen2", type, true), "attn_q.weight", 0);
    };
    CHECK(attn_q(FileType::q4_k_m) == T::q5_0);
    CHECK(attn_q(FileType::q5_k_m) == T::q5_1);
    CHECK(attn_q(FileType::q6_k) == T::q8_0);
    CHECK(attn_q(FileType::q3_k_m) == T::q4_0);
    CHECK(attn_q(FileType::iq4_xs) == T::iq4_nl);
    CHECK(attn_q(FileType::q4_0) == T::q4_0);
    const QuantMix mix = quant_mix(model, "qwen2", FileType::q4_k_m, true);
    CHECK(type_of(model, mix, "output.weight") == T::q8_0); // by rule, not by fallback
    CHECK(mix.n_fallback == 8 * 7 + 1);                     // and the embedding
}

TEST_CASE("rows that 32 does not divide stay F16") {
    Model model;
    model.hparams.set("block_count", 1);
    add(model, "ple_conv1d.weight", 0, {4, 2560, 1, 1});
    for (const FileType type : {FileType::q4_k_m, FileType::q8_0, FileType::iq2_m}) {
        const QuantMix mix = quant_mix(model, "qwen3", type, true);
        CHECK(mix.types.front() == T::f16);
        CHECK(mix.n_fallback == 1);
        CHECK_FALSE(mix.refused);
    }
}

TEST_CASE("the smallest types are refused without an importance matrix, naming the first tensor") {
    const Model model = transformer();
    const QuantMix mix = quant_mix(model, "llama", FileType::iq2_xxs, false);
    REQUIRE(mix.refused);
    CHECK(*mix.refused == "IQ2_XXS needs an importance matrix: blk.0.attn_k.weight would be iq2_xxs");
    CHECK(mix.types == quant_mix(model, "llama", FileType::iq2_xxs, true).types);
    for (const auto& type : vramfit::file_types) {
        INFO(type.name);
        CHECK(quant_mix(model, "llama", type.type, false).refused.has_value() == type.needs_imatrix);
        CHECK_FALSE(quant_mix(model, "llama", type.type, true).refused);
    }
}

TEST_CASE("Q1_0 is refused where its block does not fit: it has no fallback") {
    const Model model = transformer({.n_block = 1, .n_embd = 576}); // SmolLM2 135M
    const QuantMix mix = quant_mix(model, "llama", FileType::q1_0, true);
    REQUIRE(mix.refused);
    CHECK(*mix.refused ==
          "Q1_0 is impossible: rows of 576 in token_embd.weight are no multiple of 128, the block of q1_0");
}

TEST_CASE("matrices of one row are vectors, and F16 leaves them alone") {
    Model model;
    model.hparams.set("block_count", 1);
    add(model, "ffn_gate_inp_shexp.weight", 0, {2048, 1, 1, 1}, T::f32);
    add(model, "attn_q.bias", 0, {2048, 1, 1, 1}, T::f32);
    add(model, "attn_q.weight", 0, {2048, 2048, 1, 1});
    const QuantMix bf16 = quant_mix(model, "qwen2moe", FileType::bf16, true);
    CHECK(bf16.types == std::vector<T>{T::f32, T::f32, T::bf16});
    const QuantMix q8_0 = quant_mix(model, "qwen2moe", FileType::q8_0, true);
    CHECK(q8_0.types == std::vector<T>{T::f32, T::f32, T::q8_0});
}

TEST_CASE("a model without tensors has an empty mix") {
    CHECK(quant_mix(Model{}, "llama", FileType::q4_k_m, true).types.empty());
}
