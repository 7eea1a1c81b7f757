// The files of data/models and data/architectures as people write them: schema, order of keys, aliases.
#include "support/data_file.hpp"
#include "vramfit/base/names.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

using Json = nlohmann::ordered_json;
using namespace vramfit;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> json_files(const std::string& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(std::string(VRAMFIT_DATA_DIR) + "/" + folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

/// The keys of `object` that are unknown or stand in another order than in `keys`.
std::vector<std::string> wrong_keys(const Json& object, const std::vector<std::string>& keys) {
    std::vector<std::string> wrong;
    auto at = keys.begin();
    for (const auto& [key, value] : object.items()) {
        const auto found = std::find(at, keys.end(), key);
        if (found == keys.end())
            wrong.push_back(key);
        else
            at = found + 1;
    }
    return wrong;
}

const std::vector<std::string> entry_keys = {"id",          "aliases",    "architecture",      "like",
                                             "unsupported", "parameters", "active_parameters", "license",
                                             "released",    "hparams",    "optional",          "sources"};

} // namespace

TEST_CASE("every model entry has its keys in one order, and of the right kind") {
    for (const fs::path& path : json_files("models")) {
        const Json file = Json::parse(test::read_file(path.string()));
        INFO(path.filename().string());
        CHECK(wrong_keys(file, {"family", "models"}).empty());
        CHECK(file["family"] == path.stem().string());
        std::vector<std::string> ids;
        for (const Json& entry : file["models"]) {
            const auto id = entry.value("id", std::string("no id"));
            INFO(id);
            ids.push_back(id);
            CHECK(wrong_keys(entry, entry_keys) == std::vector<std::string>());
            CHECK(entry.contains("sources"));
            CHECK_FALSE(entry["sources"].empty());
            // what llama.cpp loads has a shape: its own, or that of another entry
            const int shapes = entry.contains("architecture") + entry.contains("like");
            CHECK((entry.contains("unsupported") || shapes == 1));
            if (entry.contains("hparams")) {
                for (const auto& [key, value] : entry["hparams"].items()) {
                    INFO(key);
                    CHECK((value.is_number() || value.is_boolean() || value.is_array()));
                }
            }
        }
        CHECK(std::ranges::is_sorted(ids));
    }
}

TEST_CASE("a name belongs to one model: ids and aliases of the whole catalog") {
    std::map<std::string, std::string> owner;
    for (const fs::path& path : json_files("models")) {
        const Json file = Json::parse(test::read_file(path.string()));
        for (const Json& entry : file["models"]) {
            const std::string id = entry["id"];
            std::vector<std::string> names{id};
            if (entry.contains("aliases"))
                for (const Json& alias : entry["aliases"]) names.push_back(alias);
            for (const std::string& name : names) {
                INFO(name << " of " << id << " and " << owner[name]);
                CHECK(owner[name].empty());
                owner[name] = id;
            }
        }
    }
    CHECK(owner.size() > 1000);
}

TEST_CASE("an entry that is like another names one that has a shape of its own") {
    std::set<std::string> shaped;
    std::map<std::string, std::string> like;
    for (const fs::path& path : json_files("models")) {
        const Json file = Json::parse(test::read_file(path.string()));
        for (const Json& entry : file["models"]) {
            if (entry.contains("like"))
                like[entry["id"]] = entry["like"];
            else if (entry.contains("hparams"))
                shaped.insert(entry["id"].get<std::string>());
        }
    }
    for (const auto& [id, other] : like) {
        INFO(id << " like " << other);
        CHECK(shaped.contains(other));
    }
}

TEST_CASE("every architecture file has its keys in one order and the architecture's own name") {
    for (const fs::path& path : json_files("architectures")) {
        const Json file = Json::parse(test::read_file(path.string()));
        INFO(path.filename().string());
        if (path.stem() == "common") {
            CHECK(wrong_keys(file, {"symbols", "caches", "inputs", "blocks"}).empty());
            continue;
        }
        CHECK(file["architecture"] == path.stem().string());
        CHECK(wrong_keys(file, {"architecture", "symbols", "tensors", "caches", "inputs", "blocks", "refusals",
                                "graph"}) == std::vector<std::string>());
        CHECK(wrong_keys(file["tensors"], {"input", "first", "each", "output", "layer"}) == std::vector<std::string>());
        CHECK(wrong_keys(file["graph"], {"pre", "layer", "head"}) == std::vector<std::string>());
    }
}

TEST_CASE("data files are indented by two spaces and end with one line break") {
    for (const char* folder : {"models", "architectures"}) {
        for (const fs::path& path : json_files(folder)) {
            INFO(path.filename().string());
            const std::string text = test::read_file(path.string());
            CHECK(text.ends_with("}\n"));
            CHECK(text.find('\t') == std::string::npos);
            CHECK(text.find('\r') == std::string::npos);
        }
    }
}
