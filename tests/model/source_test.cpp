#include "catch.hpp"
#include "support/errors.hpp"
#include "support/ollama_folder.hpp"
#include "vramfit/model/source.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

using namespace vramfit;
using namespace vramfit::test;

namespace {

constexpr std::uint64_t small_parameters = 320 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64);

ModelSources no_sources() {
    ModelSources sources;
    sources.environment = empty_environment();
    return sources;
}

/// A stream that gives a few bytes at a time, as a pipe may.
ByteStream stream_of(std::string text) {
    return [text = std::move(text), done = std::size_t{0}](std::span<std::byte> buffer) mutable {
        const std::size_t n = std::min({buffer.size(), text.size() - done, std::size_t{7}});
        std::memcpy(buffer.data(), text.data() + done, n);
        done += n;
        return n;
    };
}

std::string load_error(const std::string& name, const ModelSources& sources = no_sources()) {
    return error_of([&] { load_model(name, sources); });
}

constexpr const char* config = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
  "hidden_size": 64, "intermediate_size": 128, "max_position_embeddings": 4096, "num_attention_heads": 4,
  "num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 320, "tie_word_embeddings": true})";

} // namespace

TEST_CASE("a model is loaded from wherever its name points to", "[source]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "small.gguf");
    write_small_gguf(folder.path() / "no-ending");
    write_text(folder.path() / "hf" / "config.json", config);
    write_text(folder.path() / "own.json", small_entry("own"));
    ModelSources sources = no_sources();
    sources.catalogs = {folder.file("own.json")};
    for (const std::string& name : {folder.file("small.gguf"), folder.file("no-ending"), folder.file("hf"),
                                    folder.file("hf/config.json"), std::string("own")}) {
        INFO(name);
        CHECK(load_model(name, sources).model.n_parameters() == small_parameters);
    }
    CHECK(load_model("llama3.1-8b", sources).model.n_parameters() == 8030261312);
    CHECK(load_model("meta-llama/Llama-3.1-8B-Instruct", sources).model.n_parameters() == 8030261312);
    const SourcedModel file = load_model(folder.file("small.gguf"), sources);
    CHECK(file.model.source == "gguf");
    CHECK(file.model.file_type == "Q8_0");
    CHECK_FALSE(file.file); // what was asked for is the file
}

TEST_CASE("a folder with a model in it comes before a name of the catalog", "[source]") {
    const TempFolder folder;
    write_text(folder.path() / "Llama-3.1-8B-Instruct" / "config.json", config);
    std::filesystem::create_directory(folder.path() / "llama3.1-8b"); // empty: no model
    struct WorkingFolder {
        std::filesystem::path before = std::filesystem::current_path();
        explicit WorkingFolder(const std::filesystem::path& path) { std::filesystem::current_path(path); }
        ~WorkingFolder() { std::filesystem::current_path(before); }
    };
    const WorkingFolder here(folder.path());
    CHECK(load_model("Llama-3.1-8B-Instruct", no_sources()).model.n_parameters() == small_parameters);
    CHECK(has_own_types("Llama-3.1-8B-Instruct"));
    CHECK(load_model("llama3.1-8b", no_sources()).model.id == "llama3.1-8b");
    CHECK_FALSE(has_own_types("llama3.1-8b"));
}

TEST_CASE("standard input is a GGUF head or a config.json, by its content", "[source]") {
    ModelSources sources = no_sources();
    sources.standard_input = stream_of(small_gguf().head());
    CHECK(load_model("-", sources).model.n_parameters() == small_parameters);
    sources.standard_input = stream_of("\n  " + std::string(config));
    CHECK(load_model("-", sources).model.n_parameters() == small_parameters);
    sources.standard_input = stream_of(small_gguf().head().substr(0, 100));
    CHECK(contains(load_error("-", sources), "standard input"));
    sources.standard_input = stream_of("");
    CHECK(load_error("-", sources) ==
          "nothing came on standard input; the head of a GGUF file or a config.json would be right");
    sources.standard_input = stream_of("<!DOCTYPE html>");
    CHECK(contains(load_error("-", sources), "standard input"));
    CHECK(contains(load_error("-"), "standard input"));
}

TEST_CASE("Ollama's model brings its context, projector and file along", "[source]") {
    const OllamaFolder store;
    store.add_small();
    ModelSources sources;
    sources.environment = store.environment();
    const SourcedModel loaded = load_model("ollama:small:q8", sources);
    CHECK(loaded.model.n_parameters() == small_parameters);
    CHECK(loaded.model.id == "small:q8");
    CHECK(loaded.model.file_type == "Q8_0");
    CHECK(loaded.n_ctx == 2048);
    CHECK(loaded.projector == store.blob(3).string());
    CHECK(loaded.file == store.blob(1).string());
    CHECK(contains(load_error("ollama:other", sources), "Ollama has no model \"other:latest\""));
}

TEST_CASE("a file that is not there is told with near ones", "[source]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "small-Q8_0.gguf");
    CHECK(load_error(folder.file("small-Q4_0.gguf")).find("no file ") == 0);
    CHECK(contains(load_error(folder.file("small-Q4_0.gguf")), "; did you mean \"small-Q8_0.gguf\"?"));
    CHECK(load_error("nowhere.gguf").find("no file \"nowhere.gguf\"") == 0);
    CHECK(contains(load_error("./llama3.1-8b"), "no file \"./llama3.1-8b\""));
    CHECK(contains(load_error("no-such-owner/no-such-model"), "unknown model \"no-such-owner/no-such-model\""));
    CHECK(load_error("a\nb.gguf") == "no file \"a?b.gguf\"");
}

TEST_CASE("files that are no models are refused", "[source]") {
    const TempFolder folder;
    write_text(folder.path() / "text.txt", "hello");
    CHECK(contains(load_error(folder.file("text.txt")), "is neither a GGUF file nor a config.json of Hugging Face"));
    write_text(folder.path() / "empty.gguf", "");
    CHECK(load_error(folder.file("empty.gguf")) != "no error");
    CHECK(contains(load_error(folder.path().string()), "has no config.json"));
    GgufWriter adapter;
    adapter.text("general.architecture", "llama").text("general.type", "adapter").text("adapter.type", "lora");
    adapter.tensor("blk.0.attn_q.weight.lora_a", {64, 8}, TensorType::f32);
    adapter.write(folder.path() / "adapter.gguf");
    CHECK(contains(load_error(folder.file("adapter.gguf")), "--lora"));
    GgufWriter projector;
    projector.text("general.architecture", "clip").text("general.type", "mmproj");
    projector.tensor("v.patch_embd.weight", {64, 8}, TensorType::f32);
    projector.write(folder.path() / "mmproj.gguf");
    CHECK(contains(load_error(folder.file("mmproj.gguf")), "--mmproj"));
}

TEST_CASE("names that stand for files need no quantization", "[source]") {
    const TempFolder folder;
    write_text(folder.path() / "x", "");
    for (const std::string name : {"-", "ollama:a", "a.gguf", "./a", "/a", "A.GGUF"}) CHECK(has_own_types(name));
    CHECK(has_own_types(folder.file("x")));
    for (const std::string name : {"llama3.1-8b", "meta-llama/Llama-3.1-8B", "", "gguf"})
        CHECK_FALSE(has_own_types(name));
}

TEST_CASE("an unquantized file stands for every type that can be made of it", "[source]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "q8.gguf");
    write_small_gguf(folder.path() / "f16.gguf", TensorType::f16);
    SourcedModel quantized = load_model(folder.file("q8.gguf"), no_sources());
    ask_for_quant(quantized, "q8-0");
    CHECK(quantized.model.file_type == "Q8_0");
    CHECK(contains(error_of([&] { ask_for_quant(quantized, "q4_k_m"); }), " holds \"Q8_0\" weights, not Q4_K_M"));
    SourcedModel plain = load_model(folder.file("f16.gguf"), no_sources());
    ask_for_quant(plain, "q4_k_m");
    CHECK(plain.model.file_type.empty());
    CHECK(plain.notes.size() == 1);
}
