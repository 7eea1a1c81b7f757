#include "catch.hpp"
#include "support/environment.hpp"
#include "support/errors.hpp"
#include "support/small_model.hpp"
#include "support/temp_folder.hpp"
#include "vramfit/model/user_catalog.hpp"

#include <algorithm>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// Sources with these catalogs, each a file of `folder`, and nothing else.
ModelSources catalogs_in(const TempFolder& folder, const std::vector<std::string>& texts) {
    ModelSources sources;
    sources.environment = empty_environment();
    for (const std::string& text : texts) {
        sources.catalogs.push_back(folder.file("c" + std::to_string(sources.catalogs.size()) + ".json"));
        write_text(sources.catalogs.back(), text);
    }
    return sources;
}

std::string list_of(const std::string& entries) { return R"({"family": "mine", "models": [)" + entries + "]}"; }

/// The message about a catalog of that text, without the name of its folder.
std::string mistake(const std::string& text, const std::string& name = "small") {
    const TempFolder folder;
    const ModelSources sources = catalogs_in(folder, {text});
    const std::string error = error_of([&] { catalog_model(name, sources); });
    const std::size_t file = error.find("/c0.json\"");
    return file == std::string::npos ? error : error.substr(file + 9);
}

std::vector<std::string> tensors_of(const Model& model) {
    std::vector<std::string> tensors;
    for (const Tensor& t : model.tensors) {
        std::string text = model.full_name_of(t) + " " + std::string(traits(t.type).name);
        for (const std::uint64_t n : t.ne) text += " " + std::to_string(n);
        tensors.push_back(text);
    }
    std::ranges::sort(tensors);
    return tensors;
}

} // namespace

TEST_CASE("own catalogs: a model of a list, and a file that is one entry", "[user_catalog]") {
    const TempFolder folder;
    const ModelSources sources = catalogs_in(folder, {list_of(small_entry("small")), small_entry("alone")});
    for (const char* const name : {"small", "me/small", "Small", "alone"}) {
        const Model model = catalog_model(name, sources);
        CHECK(model.source == "catalog");
        // Embedding and norm; a layer: q and output 64 x 64, k and v 64 x 32, 3 of 64 x 128, norms 2 x 64.
        CHECK(model.n_parameters() == 320 * 64 + 64 + 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64));
    }
    CHECK(catalog_model("llama3.1-8b", sources).n_parameters() == 8030261312);
}

TEST_CASE("own catalogs come before the bundled one, the first before the second", "[user_catalog]") {
    const TempFolder folder;
    const ModelSources sources =
        catalogs_in(folder, {list_of(small_entry("llama3.1-8b")),
                             list_of(R"({"id": "llama3.1-8b", "like": "qwen3-8b"}, {"id": "q", "like": "qwen3-8b"})")});
    CHECK(catalog_model("llama3.1-8b", sources).n_block() == 2);
    CHECK(catalog_model("Llama3.1:8B", sources).n_block() == 2); // letter case forgiven, too
    CHECK(catalog_model("q", sources).n_block() == 36);
    const auto entries = catalog_entries(sources);
    CHECK(entries[0].id == "llama3.1-8b");
    CHECK(entries[0].family == "mine");
    CHECK(entries[0].context_length == 4096);
    CHECK(entries[1].id == "q");
    CHECK(entries[1].architecture == "qwen3");
    CHECK(std::ranges::count(entries, "llama3.1-8b", &CatalogEntry::id) == 1);
    CHECK(entries.size() == catalog_entries().size() + 1);
}

TEST_CASE("own catalogs: an entry like another tells only what differs", "[user_catalog]") {
    const TempFolder folder;
    const ModelSources sources = catalogs_in(
        folder,
        {list_of(small_entry("small") + R"(, {"id": "long", "like": "small", "hparams": {"context_length": 8192}})")});
    CHECK(catalog_model("long", sources).n_ctx_train() == 8192);
    CHECK(catalog_model("long", sources).n_block() == 2);
}

TEST_CASE("own catalogs: files named by the environment", "[user_catalog]") {
    const TempFolder folder;
    write_text(folder.path() / "xdg" / "vramfit" / "models.json", small_entry("of-xdg"));
    write_text(folder.path() / "home" / ".config" / "vramfit" / "models.json", small_entry("of-home"));
    write_text(folder.path() / "own.json", small_entry("of-variable"));
    ModelSources sources;
    sources.environment = variables({{"XDG_CONFIG_HOME", folder.file("xdg")}, {"HOME", folder.file("home")}});
    CHECK(catalog_model("of-xdg", sources).n_block() == 2);
    CHECK_FALSE(in_catalogs("of-home", sources));
    sources.environment = variables({{"HOME", folder.file("home")}, {"VRAMFIT_CATALOG", folder.file("own.json")}});
    CHECK(catalog_model("of-home", sources).n_block() == 2);
    CHECK(catalog_model("of-variable", sources).n_block() == 2);
    CHECK(catalog_files(sources).front() == folder.file("own.json"));
    sources.environment = variables({{"HOME", folder.file("nowhere")}, {"VRAMFIT_CATALOG", ""}});
    CHECK(catalog_files(sources).empty());
    sources.environment = variables({{"VRAMFIT_CATALOG", folder.file("gone.json")}});
    CHECK(contains(error_of([&] { catalog_model("qwen3-8b", sources); }), "VRAMFIT_CATALOG: "));
}

TEST_CASE("own catalogs: unknown names are told with near ones of all catalogs", "[user_catalog]") {
    const TempFolder folder;
    const ModelSources sources = catalogs_in(folder, {small_entry("my-very-own")});
    CHECK(error_of([&] { catalog_model("my-very-owm", sources); }) ==
          "unknown model \"my-very-owm\"; did you mean my-very-own? 'vramfit models' lists what is known");
    CHECK(contains(error_of([&] { catalog_model("lama3.1-8b", sources); }), "did you mean llama3.1"));
}

TEST_CASE("own catalogs: mistakes are told with line and key", "[user_catalog]") {
    CHECK(mistake("{\n\"models\": [\n") == ", line 3: not valid JSON");
    CHECK(mistake("[]") == ", line 1: a catalog is an object with a list \"models\"");
    CHECK(mistake("{}") == ", line 1: a catalog has a list \"models\", or is one entry with an \"id\"");
    CHECK(mistake("{\n\n\"models\": 3}") == ", line 3: \"models\" is not a list of entries");
    CHECK(mistake("{\"models\": [],\n\"family\": 5}") == ", line 2: \"family\" must be a text");
    CHECK(mistake(list_of("\n{\"id\": \"a\"},\n3")) ==
          ", line 2: an entry needs an \"architecture\", or another that it is \"like\"");
    CHECK(mistake(list_of("\n{\"id\": \"a\",\n\"architecture\": \"llama\"}")) ==
          ", line 2: an entry needs \"hparams\", or another that it is \"like\"");
    CHECK(mistake(list_of("\n{\"like\": \"qwen3-8b\"}")) == ", line 2: an entry needs an \"id\"");
    CHECK(mistake(list_of("\n{\"id\": \"a\",\n \"hparam\": {}}")) ==
          ", line 3: \"hparam\" is no key of an entry; did you mean hparams?");
    CHECK(mistake(list_of("{\"id\": \"a\", \"like\": \"qwen3-8b\"},\n\n{\"id\":\n\"a\", \"like\": \"qwen3-8b\"}")) ==
          ", line 3: \"id\" \"a\" is a name of \"a\", too");
    CHECK(mistake(list_of("{\"id\": \"a\",\n\"id\": \"b\"}")) == ", line 2: \"id\" stands there twice");
    CHECK(mistake(list_of("{\"id\": \"a\",\n\"like\": \"no-such\"}")) ==
          ", line 2: \"like\" names \"no-such\", which is no model's id");
    CHECK(mistake(list_of("{\"id\": \"a\",\n\"aliases\": \"b\"}")) == ", line 2: \"aliases\" must be a list of texts");
    CHECK(mistake(list_of("{\"id\": \"a\",\n\"parameters\": -1}")) ==
          ", line 2: \"parameters\" must be a whole number, 0 or more");
    CHECK(mistake(list_of("{\"id\": \"a\", \"hparams\": {\n\n\"block_count\":\n\"32\"}}")) ==
          ", line 3: \"block_count\" must be a number, or a list with one for each layer");
    CHECK(contains(
        mistake(list_of("\n{\"id\": \"a\", \"architecture\": \"lama\", \"hparams\": {\"block_count\": 2}}"), "a"),
        ", line 2: no description of architecture \"lama\"; did you mean llama"));
    CHECK(contains(
        mistake(list_of("\n{\"id\": \"a\", \"architecture\": \"llama\", \"hparams\": {\"block_count\": 2}}"), "a"),
        ", line 2: "));
    CHECK(contains(mistake(list_of(R"({"id": "a", "like": "qwen3-8b", "aliases": ["b-c"]},
                                      {"id": "d", "like": "qwen3-8b", "aliases": ["b_c"]})"),
                           "b.c"),
                   "; give one of these names"));
}

TEST_CASE("own catalogs: a file that is none", "[user_catalog]") {
    const TempFolder folder;
    ModelSources sources;
    sources.environment = empty_environment();
    sources.catalogs = {folder.path().string()};
    CHECK(contains(error_of([&] { catalog_model("a", sources); }), " is a folder"));
    sources.catalogs = {folder.file("gone.json")};
    CHECK(error_of([&] { catalog_model("a", sources); }) != "no error");
    write_text(folder.path() / "deep.json", std::string(100000, '['));
    sources.catalogs = {folder.file("deep.json")};
    CHECK(contains(error_of([&] { catalog_model("a", sources); }), "nested too deeply"));
}

TEST_CASE("an entry that is written makes the same model", "[user_catalog]") {
    for (const char* const id : {"llama3.1-8b", "gemma3-27b", "qwen3-30b-a3b", "gpt-oss-20b", "deepseek-v3-671b",
                                 "jamba-mini-1.5-52b", "llama4-scout-109b", "qwen3-next-80b-a3b+mtp"}) {
        INFO(id);
        const Model model = catalog_model(id);
        const Model again = model_from_entry(catalog_entry_of(model));
        CHECK(again.id == model.id);
        CHECK(again.hparams.entries() == model.hparams.entries());
        CHECK(tensors_of(again) == tensors_of(model));
    }
}

TEST_CASE("an entry that is written reads like those of the data files", "[user_catalog]") {
    const std::string entry = catalog_entry_of(model_from_entry(small_entry("small")));
    CHECK(entry == R"({
  "id": "small",
  "architecture": "llama",
  "parameters": 94528,
  "hparams": {
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "block_count": 2,
    "context_length": 4096,
    "embedding_length": 64,
    "feed_forward_length": 128,
    "rope.dimension_count": 16,
    "vocab_size": 320
  }
}
)");
}

TEST_CASE("no entry is written for tensors that the architecture does not have", "[user_catalog]") {
    Model model = catalog_model("qwen3-0.6b");
    model.tensors.back().ne[0] += 32;
    CHECK(
        contains(error_of([&] { catalog_entry_of(model); }), "no catalog entry describes \"qwen3-0.6b\": the tensor"));
}
