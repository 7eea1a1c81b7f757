#include "answer/ask.hpp"
#include "catch.hpp"
#include "support/errors.hpp"
#include "support/ollama_folder.hpp"

#include <algorithm>
#include <cstring>

using namespace vramfit;
using namespace vramfit::test;

namespace {

Request small_question(const std::string& model) {
    Request request;
    request.model = model;
    request.gpus = {"8GB"};
    return request;
}

} // namespace

TEST_CASE("a file's answer has the types and the name of the file", "[source_answer]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "my model.gguf");
    Request request = small_question(folder.file("my model.gguf"));
    request.n_ctx = 512;
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.model.source == "gguf");
    CHECK(a.settings.quant == "Q8_0");
    CHECK(contains(a.command, " -m '" + folder.file("my model.gguf") + "' "));
    // K and V of 512 cells, 2 layers of 2 heads of 16, in f16.
    CHECK(a.devices[0].memory.kv_cache == 2 * 512 * 2 * 32 * 2);
    CHECK(a.weights.size() == 4); // embeddings, attention, feed-forward, output
    CHECK(a.kv_heads == std::vector<std::uint64_t>{2, 2});
}

TEST_CASE("the file type of a question goes with what a file holds", "[source_answer]") {
    const TempFolder folder;
    write_small_gguf(folder.path() / "q8.gguf");
    write_small_gguf(folder.path() / "f16.gguf", TensorType::f16);
    Request request = small_question(folder.file("f16.gguf"));
    request.n_ctx = 512;
    request.quant = "q8_0";
    const Answer made = answer(request);
    CHECK(made.settings.quant == "Q8_0");
    CHECK(has_note(made, "a Q8_0 file that llama-quantize would make of it"));
    CHECK(contains(made.command, " -m MODEL.gguf "));
    request.model = folder.file("q8.gguf");
    request.quant.reset();
    CHECK(made.devices[0].memory.weights == answer(request).devices[0].memory.weights);
    request.quant = "q4_0";
    CHECK(contains(error_of([&] { answer(request); }), "holds \"Q8_0\" weights, not Q4_0"));
}

TEST_CASE("an Ollama model is asked about with its own context", "[source_answer]") {
    const OllamaFolder store;
    write_small_gguf(store.blob(1));
    write_text(store.blob(2), R"({"num_ctx": 2048})");
    store.manifest("registry.ollama.ai/library/small/q8",
                   OllamaFolder::layer("model", 1) + "," + OllamaFolder::layer("params", 2));
    ModelSources sources;
    sources.environment = store.environment();
    Request request = small_question("ollama:small:q8");
    const Answer a = answer(request, sources);
    CHECK(a.settings.n_ctx == 2048);
    CHECK(has_note(a, "the context of 2048 is what the model's own settings ask for"));
    CHECK(a.model.id == "small:q8");
    CHECK(contains(a.command, " -m " + store.blob(1).string() + " "));
    request.n_ctx = 512;
    CHECK(answer(request, sources).settings.n_ctx == 512);
}

TEST_CASE("a head on standard input has an answer, whose command stands for a file", "[source_answer]") {
    ModelSources sources;
    sources.environment = empty_environment();
    sources.standard_input = [text = small_gguf().head(), done = std::size_t{0}](std::span<std::byte> buffer) mutable {
        const std::size_t n = std::min(buffer.size(), text.size() - done);
        std::memcpy(buffer.data(), text.data() + done, n);
        done += n;
        return n;
    };
    Request request = small_question("-");
    request.n_ctx = 512;
    CHECK(contains(answer(request, sources).command, " -m MODEL.gguf "));
}

TEST_CASE("catalogs of a question are asked first", "[source_answer]") {
    const TempFolder folder;
    write_text(folder.path() / "own.json", small_entry("llama3.1-8b"));
    Request request = llama_8b(512, "8GB");
    request.catalogs = {folder.file("own.json")};
    CHECK(answer(request).model.block_count == 2);
}
