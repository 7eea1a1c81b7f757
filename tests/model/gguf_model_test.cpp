// Models from GGUF files: the same answer as the catalog's, to the byte; split sets; architectures that are not known.
#include "support/errors.hpp"
#include "support/gguf_of_model.hpp"
#include "support/temp_folder.hpp"
#include "support/text_stream.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/gguf_model.hpp"

#include "catch.hpp"

#include <map>

using namespace vramfit;
using namespace vramfit::test;

namespace {

SourcedModel model_of_stream(const GgufWriter& w) {
    TextStream text{w.head()};
    return model_from_gguf_stream(text.stream());
}

std::string figures(const MemoryEstimate& e) {
    std::string text = e.refusal.value_or("runs");
    const auto add = [&](const DeviceMemory& m) {
        for (const std::uint64_t n : {m.weights, m.kv_cache, m.recurrent_state, m.compute})
            text += " " + std::to_string(n);
    };
    for (const DeviceMemory& device : e.devices) add(device);
    add(e.host);
    return text + " " + std::to_string(e.host.output) + " " + std::to_string(e.tensor_bytes);
}

/// A file of `model` says the same as the catalog: all on a device, and some layers on the host.
void check_same(const std::string& id, FileType type) {
    INFO(id);
    const Model model = catalog_model(id);
    Estimator catalog(model);
    SourcedModel read = model_of_stream(gguf_of(model, type));
    CHECK(read.model.id == id);
    CHECK(read.model.source == "gguf");
    CHECK(read.model.file_type == traits(type).name);
    CHECK(read.notes.empty());
    Estimator file(std::move(read.model));
    Deployment d;
    d.file_type = type;
    d.settings.n_ctx = 8192;
    for (const std::int64_t n_gpu_layers : {std::int64_t{-1}, std::int64_t{7}}) {
        d.placement.n_gpu_layers = n_gpu_layers;
        CHECK(figures(file.estimate(d)) == figures(catalog.estimate(d)));
    }
}

constexpr std::uint64_t small_block = 2 * 256 + 2 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 128); // f16
constexpr std::uint64_t small_ends = 2 * 64000 + 256;

GgufWriter small_model(const std::string& architecture = "llama") {
    GgufWriter w = small_gguf(architecture);
    put_ends(w, TensorType::f16);
    put_block(w, 0, TensorType::f16);
    put_block(w, 1, TensorType::f16);
    return w;
}

/// Part `part` (from 1) of a split set of `count`.
GgufWriter part_of(std::uint16_t part, std::uint16_t count, std::int32_t n_tensors) {
    GgufWriter w;
    if (part == 1) w = small_gguf();
    w.u16("split.no", static_cast<std::uint16_t>(part - 1)).u16("split.count", count);
    w.i32("split.tensors.count", n_tensors);
    return w;
}

/// A set of three parts: the ends, block 0, block 1.
void write_set(const TempFolder& folder) {
    for (std::uint16_t part = 1; part <= 3; ++part) {
        GgufWriter w = part_of(part, 3, 20);
        if (part == 1)
            put_ends(w, TensorType::f16);
        else
            put_block(w, part - 2, TensorType::f16);
        w.write(folder.file("small-0000" + std::to_string(part) + "-of-00003.gguf"));
    }
}

} // namespace

TEST_CASE("a file gives what the catalog gives, whatever the architecture", "[gguf]") {
    for (const char* id :
         {"llama3.1-8b", "gemma3-12b", "qwen3-30b-a3b", "deepseek-v2-lite", "mamba-2.8b", "gpt-oss-20b",
          "granite-4.0-h-tiny", "lfm2-1.2b", "gemma3n-e4b", "bge-m3", "glm-4.5-air", "phi-4-mini"})
        check_same(id, FileType::q4_k_m);
    check_same("llama3.2-1b", FileType::iq2_xs);
    check_same("qwen2.5-0.5b", FileType::q8_0);
}

TEST_CASE("the vocabulary of a file is counted by its tokens", "[gguf]") {
    GgufWriter w = small_model();
    w.texts("tokenizer.ggml.tokens", std::vector<std::string>(1000, "t")); // llama.cpp does not look at vocab_size then
    CHECK(model_of_stream(w).model.hparams.get("vocab_size", 0) == 1000);
    GgufWriter other = small_model();
    other.texts("tokenizer.ggml.tokens", std::vector<std::string>(1234, "t"));
    CHECK(model_of_stream(other).model.hparams.get("vocab_size", 0) == 1234);
}

TEST_CASE("a tensor that no architecture knows is weight all the same, placed by its name", "[gguf]") {
    GgufWriter w = small_model();
    w.tensor("blk.1.new_thing.weight", {32, 32}, TensorType::f32).tensor("new_head.weight", {64}, TensorType::f32);
    w.tensor("token_embd_extra.weight", {32}, TensorType::f32);
    const Model model = model_of_stream(w).model;
    CHECK(model.tensors.size() == 23);
    const auto section_of = [&](std::string_view name) {
        for (const Tensor& t : model.tensors) {
            if (model.full_name_of(t) == name) return t.section;
        }
        return TensorSection::first;
    };
    CHECK(section_of("blk.1.new_thing.weight") == TensorSection::layer);
    CHECK(section_of("new_head.weight") == TensorSection::output);
    CHECK(section_of("token_embd_extra.weight") == TensorSection::input);
    CHECK(section_of("token_embd.weight") == TensorSection::input);
    CHECK(section_of("output_norm.weight") == TensorSection::output);
    const std::uint64_t all = small_ends + 2 * small_block + 4 * 32 * 32 + 256 + 128;
    CHECK(Estimator(model).estimate({}).tensor_bytes == all);
}

TEST_CASE("the type of a file is the one that it says, else that of most matrices", "[gguf]") {
    const auto file_type = [](std::uint32_t number, TensorType type) {
        GgufWriter w = small_gguf();
        if (number != 99) w.u32("general.file_type", number);
        put_ends(w, TensorType::f16);
        put_block(w, 0, type);
        return model_of_stream(w).model.file_type;
    };
    CHECK(file_type(15, TensorType::q8_0) == "Q4_K_M");
    CHECK(file_type(1024 + 7, TensorType::f16) == "Q8_0"); // guessed by llama.cpp, says the flag
    CHECK(file_type(4, TensorType::q4_0) == "Q4_0");       // 4 was given up
    CHECK(file_type(99, TensorType::q8_0) == "Q8_0");
    CHECK(file_type(99, TensorType::f16) == "F16");
    CHECK(file_type(99, TensorType::bf16) == "BF16");
}

TEST_CASE("an architecture that is not known: exact weights, plain attention, and a note", "[gguf]") {
    const SourcedModel read = model_of_stream(small_model("brandnew"));
    REQUIRE(read.notes.size() == 1);
    CHECK(contains(read.notes[0], "\"brandnew\" is not known"));
    CHECK(read.model.architecture->name == "brandnew");
    Estimator estimator(read.model);
    Deployment d;
    d.settings.n_ctx = 1024;
    const MemoryEstimate e = estimator.estimate(d);
    CHECK_FALSE(e.refusal.has_value());
    CHECK(e.tensor_bytes == small_ends + 2 * small_block);
    CHECK(e.devices[0].kv_cache == 2 * 1024 * (32 + 32) * 2); // layers, cells, K and V of 2 heads of 16, f16
    CHECK(e.compute_basis == Basis::modelled);
    CHECK(e.kv_basis == Basis::modelled);
    CHECK(e.compute_error > 0);
    // The same shape as a llama: the model of the compute buffer is close.
    const MemoryEstimate known = Estimator(model_of_stream(small_model()).model).estimate(d);
    CHECK(e.devices[0].kv_cache == known.devices[0].kv_cache);
    CHECK(e.devices[0].compute >= known.devices[0].compute * 9 / 10);
    CHECK(e.devices[0].compute <= known.devices[0].compute * 11 / 10);
    CHECK(known.compute_basis == Basis::exact);
}

TEST_CASE("an unknown architecture with experts, or with its matrices under other names, is modelled, too", "[gguf]") {
    GgufWriter w = small_gguf("brandnew");
    w.u32("brandnew.expert_count", 8).u32("brandnew.expert_used_count", 2);
    put_ends(w, TensorType::f16);
    for (int il = 0; il < 2; ++il) {
        const std::string block = "blk." + std::to_string(il) + ".";
        w.tensor(block + "attn_qkv.weight", {64, 128}, TensorType::f16);
        w.tensor(block + "ffn_gate_inp.weight", {64, 8}, TensorType::f32);
        w.tensor(block + "ffn_up_exps.weight", {64, 128, 8}, TensorType::f16);
        w.tensor(block + "ffn_down_exps.weight", {128, 64, 8}, TensorType::f16);
    }
    GgufWriter bare = small_gguf("brandnew");
    put_ends(bare, TensorType::f16);
    bare.tensor("blk.0.everything.weight", {64, 64}, TensorType::f16);
    for (const GgufWriter& writer : {w, bare}) {
        Estimator estimator(model_of_stream(writer).model);
        for (const auto flash_attn : {FlashAttention::on, FlashAttention::off}) {
            Deployment d;
            d.settings.flash_attn = flash_attn;
            CHECK(estimator.estimate(d).devices[0].compute > 0);
            d.placement.n_gpu_layers = 1;
            CHECK(estimator.estimate(d).host.kv_cache > 0);
        }
    }
}

TEST_CASE("an encoder of an unknown architecture keeps no cache", "[gguf]") {
    GgufWriter w = small_model("brandnew");
    w.boolean("brandnew.attention.causal", false).u32("brandnew.pooling_type", 1);
    SourcedModel read = model_of_stream(w);
    CHECK(contains(read.notes.at(0), "it keeps no KV cache"));
    Estimator estimator(std::move(read.model));
    Deployment d;
    for (const bool embeddings : {false, true}) {
        d.settings.embeddings = embeddings;
        const MemoryEstimate e = estimator.estimate(d);
        CHECK(e.devices[0].kv_cache == 0);
        CHECK(e.devices[0].compute > 0);
        CHECK(e.compute_basis == Basis::modelled);
    }
}

TEST_CASE("any part of a split set stands for all of it", "[gguf]") {
    const TempFolder folder;
    write_set(folder);
    for (const char* part : {"1", "2", "3"}) {
        const SourcedModel read = model_from_gguf(folder.file(std::string("small-0000") + part + "-of-00003.gguf"));
        CHECK(read.model.id == "small");
        CHECK(read.model.tensors.size() == 20);
        CHECK(Estimator(read.model).estimate({}).tensor_bytes == small_ends + 2 * small_block);
    }
}

TEST_CASE("the parts that are missing from a split set are named", "[gguf]") {
    const TempFolder folder;
    write_set(folder);
    std::filesystem::remove(folder.file("small-00001-of-00003.gguf"));
    CHECK(error_of([&] { model_from_gguf(folder.file("small-00002-of-00003.gguf")); }) ==
          "1 of 3 parts are missing beside \"small-00002-of-00003.gguf\": \"small-00001-of-00003.gguf\"");
    std::filesystem::remove(folder.file("small-00002-of-00003.gguf"));
    CHECK(contains(error_of([&] { model_from_gguf(folder.file("small-00003-of-00003.gguf")); }), "2 of 3 parts"));
}

TEST_CASE("the parts of a split set that do not agree are named", "[gguf]") {
    const auto error_with = [](const char* replaced, const GgufWriter& part) {
        const TempFolder folder;
        write_set(folder);
        part.write(folder.file(replaced));
        return error_of([&] { model_from_gguf(folder.file("small-00001-of-00003.gguf")); });
    };
    const char* second = "small-00002-of-00003.gguf";
    CHECK(contains(error_with(second, part_of(3, 3, 20)), "part 3 of 3 by its metadata, and part 2 of 3 by its name"));
    CHECK(contains(error_with(second, part_of(2, 5, 20)), "part 2 of 5 by its metadata"));
    CHECK(contains(error_with(second, GgufWriter()), "part 1 of 0 by its metadata"));
    CHECK(contains(error_with(second, part_of(2, 3, 20)), "have 11 tensors, and split.tensors.count is 20"));
    GgufWriter twice = part_of(2, 3, 20);
    put_block(twice, 1, TensorType::f16);
    CHECK(contains(error_with(second, twice), "\"blk.1.attn_k.weight\" twice"));
    GgufWriter other = part_of(2, 3, 20);
    other.text("general.architecture", "qwen2");
    CHECK(contains(error_with(second, other), "its architecture is \"qwen2\", theirs \"llama\""));
    CHECK(contains(error_with("small-00001-of-00003.gguf", part_of(1, 2, 20)), "part 1 of 2 by its metadata"));
}

TEST_CASE("a part that is called something else, or comes on a stream, cannot find the others", "[gguf]") {
    const TempFolder folder;
    part_of(1, 3, 20).write(folder.file("renamed.gguf"));
    CHECK(contains(error_of([&] { model_from_gguf(folder.file("renamed.gguf")); }),
                   "its name does not say where the others are: NAME-00001-of-00003.gguf would be right"));
    CHECK(contains(error_of([&] { model_of_stream(part_of(1, 3, 20)); }), "one part of a split set"));
}

TEST_CASE("the name of a model is that of its file", "[gguf]") {
    const TempFolder folder;
    small_model().write(folder.file("My.Model-Q4_K_M.GGUF"));
    small_model().write(folder.file("blob\x1b[31m"));
    CHECK(model_from_gguf(folder.file("My.Model-Q4_K_M.GGUF")).model.id == "My.Model-Q4_K_M");
    CHECK(model_from_gguf(folder.file("blob\x1b[31m")).model.id == "blob?[31m");
    CHECK(model_of_stream(small_model()).model.id == "model");
}

TEST_CASE("the sizes of published files are their tensors and a head with the vocabulary", "[gguf]") {
    struct Published {
        const char* model;
        FileType type;
        std::uint64_t size;
        std::uint64_t head; ///< bytes a token: by the text of the tokens, and whether there are merges
    };
    // Bytes of whole files, as their publishers list them. Two types of one model have the same head.
    const std::vector<Published> files{
        {"codellama-7b", FileType::q4_k_s, 3856831168, 23},         {"codellama-7b", FileType::q6_k, 5529302208, 23},
        {"mistral-7b-v0.2", FileType::q4_k_s, 4140374304, 22},      {"mistral-7b-v0.2", FileType::q6_k, 5942065440, 22},
        {"deepseek-coder-6.7b", FileType::q4_k_s, 3858751712, 40},  {"gemma3-1b", FileType::q4_k_m, 806058240, 24},
        {"gemma3-12b", FileType::q4_k_m, 7300574976, 24},           {"llama3.1-8b", FileType::q4_k_m, 4920739232, 61},
        {"smollm3-3b", FileType::q4_k_m, 1915305312, 61},           {"qwen3-4b", FileType::q4_k_m, 2497281312, 39},
        {"qwen3-coder-30b-a3b", FileType::q4_k_m, 18556689568, 39}, {"lfm2-1.2b", FileType::q4_k_m, 730893248, 36},
    };
    std::map<std::string, std::uint64_t> heads;
    for (const Published& file : files) {
        INFO(file.model << ' ' << traits(file.type).name);
        const GgufWriter w = gguf_of(catalog_model(file.model), file.type);
        TextStream text{w.head()};
        const GgufHeader header = read_gguf(text.stream(), "file");
        REQUIRE(file.size > header.tensor_bytes);
        const std::uint64_t head = file.size - header.tensor_bytes;
        CHECK(head / static_cast<std::uint64_t>(*header.number(std::string(header.architecture()) + ".vocab_size")) ==
              file.head);
        const auto [known, added] = heads.emplace(file.model, head);
        CHECK(known->second == head);
    }
}
