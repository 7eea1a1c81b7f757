#include "vramfit/model/catalog.hpp"

#include "support/errors.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/names.hpp"

#include "catch.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace vramfit;
using test::contains;
using test::error_of;

TEST_CASE("a model is found by its id and by every alias, as written") {
    CHECK(find_catalog_entry("llama3.1-8b").id == "llama3.1-8b");
    CHECK(find_catalog_entry("meta-llama/Llama-3.1-8B-Instruct").id == "llama3.1-8b");
    CHECK(find_catalog_entry("llama3.1:8b").id == "llama3.1-8b");
    for (const CatalogEntry& entry : catalog_entries()) {
        INFO(entry.id);
        CHECK(find_catalog_entry(entry.id).id == entry.id);
        for (const std::string& alias : entry.aliases) {
            INFO(alias);
            CHECK(find_catalog_entry(alias).id == entry.id);
        }
    }
}

TEST_CASE("a repository's name does without its owner") {
    CHECK(find_catalog_entry("Llama-3.1-8B-Instruct").id == "llama3.1-8b");
    CHECK(find_catalog_entry("mistral-nemo-instruct-2407").id == "mistral-nemo-12b");
    CHECK(find_catalog_entry("Qwen3-30B-A3B-Instruct-2507").id == "qwen3-30b-a3b-2507");
}

TEST_CASE("letter case and separators are forgiven") {
    CHECK(find_catalog_entry("Llama3.1-8B").id == "llama3.1-8b");
    CHECK(find_catalog_entry("LLAMA 3.1 8B").id == "llama3.1-8b");
    CHECK(find_catalog_entry("llama_3_1_8b").id == "llama3.1-8b");
    CHECK(find_catalog_entry("META-LLAMA/llama-3.1-8b-instruct").id == "llama3.1-8b");
}

TEST_CASE("a name that fits several models asks which") {
    std::map<std::string, std::set<std::uint32_t>> by_key;
    std::set<std::string> written;
    for (const embedded::Name& name : embedded::model_names()) {
        by_key[std::string(name.key)].insert(name.entry);
        written.insert(std::string(name.written));
    }
    for (const auto& [key, entries] : by_key) {
        if (entries.size() < 2 || written.contains(key)) continue;
        INFO(key);
        const std::string error = error_of([&] { find_catalog_entry(key); });
        CHECK(contains(error, "may mean"));
        for (const std::uint32_t entry : entries) CHECK(contains(error, std::string(embedded::models()[entry].id)));
    }
}

TEST_CASE("an unknown name is an error with near ones") {
    const std::string error = error_of([] { find_catalog_entry("lama3.1-8b"); });
    CHECK(contains(error, "unknown model \"lama3.1-8b\""));
    CHECK(contains(error, "did you mean"));
    CHECK(contains(error, "llama3.1"));
    CHECK(contains(error_of([] { catalog_model("zzzzzzzzzzzz"); }), "\"; 'vramfit models' lists what is known"));
    CHECK(error_of([] { find_catalog_entry(""); }) != "no error");
    CHECK(error_of([] { find_catalog_entry("-._:"); }) != "no error");
    CHECK_FALSE(contains(error_of([] { find_catalog_entry("a\nb"); }), "\n")); // one line
}

TEST_CASE("five models are listed that llama.cpp cannot load, each with its reason") {
    std::set<std::string> unsupported;
    for (const CatalogEntry& entry : catalog_entries()) {
        if (entry.unsupported.empty()) continue;
        unsupported.insert(entry.id);
        CHECK(error_of([&] { catalog_model(entry.id); }) ==
              "llama.cpp cannot load " + entry.id + ": " + entry.unsupported);
    }
    CHECK(unsupported == std::set<std::string>{"glm-5.3-flash", "hy4-preview-770b-a49b", "hyperclovax-seed-think-14b",
                                               "llama3.2-vision-11b", "minitron-8b"});
}

TEST_CASE("an entry that is like another has its shape and what it changes") {
    const CatalogEntry entry = find_catalog_entry("llama3.1-8b");
    CHECK(entry.family == "llama");
    CHECK(entry.architecture == "llama");
    CHECK(entry.parameters == 8030261312);
    CHECK(entry.context_length == 131072);
    CHECK_FALSE(entry.moe);
    CHECK_FALSE(entry.sources.empty());
    CHECK(find_catalog_entry("qwen3-30b-a3b").moe);
}

TEST_CASE("entries are sorted by id, and no two are the same") {
    const auto entries = catalog_entries();
    CHECK(entries.size() >= 335);
    CHECK(std::ranges::is_sorted(entries, {}, &CatalogEntry::id));
    CHECK(std::ranges::adjacent_find(entries, {}, &CatalogEntry::id) == entries.end());
}

TEST_CASE("a catalog entry that is no model is refused") {
    CHECK(error_of([] { model_from_entry("{"); }) == "a catalog entry is not valid JSON");
    CHECK(contains(error_of([] { model_from_entry("{}"); }), "has no \"hparams\""));
    CHECK(contains(error_of([] { model_from_entry("[]"); }), "has no \"hparams\""));
    CHECK(error_of([] { model_from_entry(R"({"id": "x", "architecture": "none", "hparams": {"block_count": 1}})"); }) ==
          "no description of architecture \"none\"");
    CHECK(error_of([] {
              model_from_entry(R"({"id": "x", "architecture": "llama", "hparams": {"block_count": [1, "a"]}})");
          }) == "hyperparameter 'block_count' is not a number");
}
