#pragma once

#include "support/gguf_writer.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace vramfit::test {

inline void write_text(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// A llama of 2 layers, 4 heads of 16, 2 of them for keys and values: 32 elements a token, layer and K or V. The
/// matrices of the layers are of type `type`.
inline GgufWriter small_gguf(TensorType type = TensorType::q8_0) {
    GgufWriter w;
    w.text("general.architecture", "llama").text("general.name", "Small");
    w.u32("general.file_type", type == TensorType::q8_0 ? 7 : 1);
    w.u32("llama.block_count", 2).u32("llama.context_length", 4096).u32("llama.embedding_length", 64);
    w.u32("llama.feed_forward_length", 128).u32("llama.attention.head_count", 4);
    w.u32("llama.attention.head_count_kv", 2).u32("llama.vocab_size", 320).u32("llama.rope.dimension_count", 16);
    w.tensor("token_embd.weight", {64, 320}, type).tensor("output_norm.weight", {64}, TensorType::f32);
    for (const std::string il : {"0", "1"}) {
        const std::string blk = "blk." + il + ".";
        w.tensor(blk + "attn_norm.weight", {64}, TensorType::f32)
            .tensor(blk + "ffn_norm.weight", {64}, TensorType::f32);
        w.tensor(blk + "attn_q.weight", {64, 64}, type).tensor(blk + "attn_k.weight", {64, 32}, type);
        w.tensor(blk + "attn_v.weight", {64, 32}, type).tensor(blk + "attn_output.weight", {64, 64}, type);
        w.tensor(blk + "ffn_gate.weight", {64, 128}, type).tensor(blk + "ffn_up.weight", {64, 128}, type);
        w.tensor(blk + "ffn_down.weight", {128, 64}, type);
    }
    return w;
}

inline void write_small_gguf(const std::filesystem::path& path, TensorType type = TensorType::q8_0) {
    std::filesystem::create_directories(path.parent_path());
    small_gguf(type).write(path);
}

/// The same model as an entry of a catalog.
inline std::string small_entry(const std::string& id) {
    return R"({"id": ")" + id + R"(", "architecture": "llama", "aliases": ["me/)" + id + R"("],
  "hparams": {"block_count": 2, "context_length": 4096, "embedding_length": 64, "feed_forward_length": 128,
    "attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 320, "rope.dimension_count": 16}})";
}

} // namespace vramfit::test
