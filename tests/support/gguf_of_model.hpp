#pragma once

#include "gguf_writer.hpp"

#include "vramfit/model/architecture.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/model.hpp"
#include "vramfit/model/quant_mix.hpp"

#include <cmath>

namespace vramfit::test {

/// The key under which a GGUF file has the hyperparameter `key`.
inline std::string gguf_key(const std::string& architecture, const std::string& key) {
    return key.starts_with("tokenizer.") ? key : architecture + "." + key;
}

inline void put_hparams(GgufWriter& w, const std::string& architecture, const Hparams& hparams) {
    for (const auto& [key, numbers] : hparams.entries()) {
        const std::string full = gguf_key(architecture, key);
        if (numbers.size() > 1) {
            std::vector<std::int32_t> elements;
            for (const double number : numbers) elements.push_back(static_cast<std::int32_t>(number));
            w.array(full, 5, elements);
        } else if (numbers[0] >= 0 && numbers[0] == std::floor(numbers[0])) {
            w.u32(full, static_cast<std::uint32_t>(numbers[0]));
        } else {
            w.f32(full, static_cast<float>(numbers[0]));
        }
    }
}

/// The file of a catalog model of that type, made with an importance matrix: what llama-quantize would write.
inline GgufWriter gguf_of(const Model& model, FileType type) {
    GgufWriter w;
    w.text("general.architecture", model.architecture->name).text("general.name", model.id);
    w.u32("general.file_type", traits(type).number);
    put_hparams(w, model.architecture->name, model.hparams);
    const QuantMix mix = quant_mix(model, model.architecture->name, type, true);
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& t = model.tensors[i];
        w.tensor(model.full_name_of(t), {t.ne.begin(), t.ne.begin() + t.n_dims}, mix.types[i]);
    }
    return w;
}

/// A plain transformer of two blocks, small enough for every test.
inline GgufWriter small_gguf(const std::string& architecture = "llama") {
    GgufWriter w;
    w.text("general.architecture", architecture);
    const auto key = [&](const char* name, std::uint32_t value) { w.u32(architecture + "." + name, value); };
    key("block_count", 2);
    key("context_length", 2048);
    key("embedding_length", 64);
    key("feed_forward_length", 128);
    key("attention.head_count", 4);
    key("attention.head_count_kv", 2);
    key("vocab_size", 1000);
    return w;
}

/// The tensors of block `il` of `small_gguf`, in `type`.
inline void put_block(GgufWriter& w, int il, TensorType type) {
    const std::string block = "blk." + std::to_string(il) + ".";
    w.tensor(block + "attn_norm.weight", {64}, TensorType::f32)
        .tensor(block + "ffn_norm.weight", {64}, TensorType::f32);
    w.tensor(block + "attn_q.weight", {64, 64}, type).tensor(block + "attn_k.weight", {64, 32}, type);
    w.tensor(block + "attn_v.weight", {64, 32}, type).tensor(block + "attn_output.weight", {64, 64}, type);
    w.tensor(block + "ffn_gate.weight", {64, 128}, type).tensor(block + "ffn_up.weight", {64, 128}, type);
    w.tensor(block + "ffn_down.weight", {128, 64}, type);
}

/// The tensors of `small_gguf` outside its blocks.
inline void put_ends(GgufWriter& w, TensorType type) {
    w.tensor("token_embd.weight", {64, 1000}, type).tensor("output_norm.weight", {64}, TensorType::f32);
}

} // namespace vramfit::test
