// Projectors, adapters and draft models that are files.

#include "catch.hpp"

#include "answer/ask.hpp"
#include "support/gguf_of_model.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/catalog.hpp"

namespace vramfit {
namespace {

using test::error_of;
using test::GgufWriter;
using test::has_note;
using test::llama_8b;
using test::question;
using test::TempFolder;

std::string projector_file(const TempFolder& folder) {
    GgufWriter w;
    w.text("general.architecture", "clip").text("general.type", "mmproj").boolean("clip.has_vision_encoder", true);
    w.text("clip.projector_type", "gemma3").u32("clip.vision.image_size", 896).u32("clip.vision.patch_size", 14);
    w.u32("clip.vision.block_count", 27).u32("clip.vision.embedding_length", 1152);
    w.u32("clip.vision.feed_forward_length", 4304).u32("clip.vision.attention.head_count", 16);
    w.u32("clip.vision.projection_dim", 3840);
    w.tensor("v.patch_embd.weight", {14, 14, 3, 1152}, TensorType::f16); // 1354752 bytes, a multiple of 128
    w.tensor("mm.scale", {1}, TensorType::f32);                          // 4 -> 128
    const std::string file = folder.file("mmproj.gguf");
    w.write(file);
    return file;
}

/// Rank 8 on the query matrices of the first and the last of 32 blocks, 4096 x 4096 each: 262144 bytes a pair in F32.
std::string adapter_file(const TempFolder& folder) {
    GgufWriter w;
    w.text("general.architecture", "llama").text("general.type", "adapter").text("adapter.type", "lora");
    for (const char* block : {"blk.0.", "blk.31."}) {
        w.tensor(std::string(block) + "attn_q.weight.lora_a", {4096, 8}, TensorType::f32);
        w.tensor(std::string(block) + "attn_q.weight.lora_b", {8, 4096}, TensorType::f32);
    }
    const std::string file = folder.file("adapter.gguf");
    w.write(file);
    return file;
}

} // namespace

TEST_CASE("a projector's file counts to the byte", "[companions]") {
    const TempFolder folder;
    Request request = question("gemma3-12b", "q4_k_m", 8192, "24GB");
    request.projector = projector_file(folder);
    const Answer a = answer(request);
    REQUIRE(a.projector);
    CHECK(a.projector->weights == 1354752 + 128);
    CHECK(a.projector->weights_basis == Basis::exact);
    CHECK(a.devices[0].memory.projector == a.projector->weights + a.projector->compute);
    CHECK(a.command.find("--mmproj " + *request.projector) != std::string::npos);
    CHECK_FALSE(has_note(a, "typical F16"));
}

TEST_CASE("a LoRA adapter lies where the matrices lie that it adapts", "[companions]") {
    const TempFolder folder;
    Request request = llama_8b(8192, "24GB");
    request.adapters = {adapter_file(folder)};
    const Answer alone = answer(llama_8b(8192, "24GB"));
    const Answer a = answer(request);
    REQUIRE(a.adapters.size() == 1);
    CHECK(a.adapters[0].bytes == 2 * 262144);
    CHECK(a.adapters[0].n_tensors == 4);
    CHECK(a.devices[0].memory.adapters == 2 * 262144);
    CHECK(a.devices[0].required == alone.devices[0].required + 2 * 262144);
    // The products of a prompt of 512 tokens, which nobody has measured: 4096 + 8 floats a token.
    CHECK(a.compute_basis == Basis::modelled);
    CHECK(a.compute_error == 4104ULL * 512 * 4);
    CHECK(a.command.ends_with(" --lora " + request.adapters[0]));

    request.n_gpu_layers = 32; // without the first block
    const Answer half = answer(request);
    CHECK(half.devices[0].memory.adapters == 262144);
    CHECK(half.host.adapters == 262144);

    request = llama_8b(8192, "2x24GB");
    request.adapters = {a.adapters[0].name};
    request.split_mode = SplitMode::none;
    request.main_gpu = 1;
    const Answer second = answer(request);
    CHECK(second.devices[0].memory.adapters == 0);
    CHECK(second.devices[1].memory.adapters == 2 * 262144);
}

TEST_CASE("an adapter of another model is an error that says so", "[companions]") {
    const TempFolder folder;
    Request request = question("qwen3-0.6b", "q8_0", 4096, "24GB");
    request.adapters = {adapter_file(folder)};
    CHECK(error_of(request).find("adapts models of the architecture \"llama\", qwen3-0.6b is of qwen3") !=
          std::string::npos);
    request = llama_8b(8192, "24GB");
    request.adapters = {projector_file(folder)};
    CHECK(error_of(request).find("is a projector of images or sound, no LoRA adapter") != std::string::npos);
}

TEST_CASE("a draft model's file holds what it holds", "[companions]") {
    const TempFolder folder;
    const std::string file = folder.file("draft.gguf");
    test::gguf_of(catalog_model("llama3.2-1b"), FileType::q8_0).write(file);
    Request named = llama_8b(8192, "24GB");
    named.draft = DraftRequest{"llama3.2-1b", "q8_0", {}, {}, {}};
    Request filed = named;
    filed.draft->model = file;
    filed.draft->quant.reset();
    const Answer a = answer(filed);
    CHECK(a.devices[0].memory.draft == answer(named).devices[0].memory.draft);
    CHECK(a.draft->quant == "Q8_0");
    CHECK(a.command.find("-md " + file) != std::string::npos);
}

} // namespace vramfit
