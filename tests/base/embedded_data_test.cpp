#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/names.hpp"

#include "model/self_contained.hpp"
#include "vramfit/model/architecture.hpp"

#include "catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace {

namespace embedded = vramfit::embedded;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<fs::path> json_files(const std::string& folder) {
    std::vector<fs::path> found;
    const fs::path root = fs::path(VRAMFIT_DATA_DIR) / folder;
    if (!fs::exists(root)) return found;
    for (const auto& item : fs::directory_iterator(root)) {
        if (item.path().extension() == ".json") found.push_back(item.path());
    }
    return found;
}

Json parse_file(const fs::path& path) {
    std::ifstream in(path);
    return Json::parse(in);
}

/// The entry with this id, by binary search, or nullptr.
const embedded::Entry* entry_of(std::span<const embedded::Entry> entries, const std::string& id) {
    const auto found = std::lower_bound(entries.begin(), entries.end(), id,
                                        [](const embedded::Entry& e, const std::string& i) { return e.id < i; });
    return found == entries.end() || found->id != id ? nullptr : &*found;
}

void check_entry(std::span<const embedded::Entry> entries, const Json& expected, const std::string& group) {
    INFO(expected.at("id"));
    const embedded::Entry* entry = entry_of(entries, expected.at("id"));
    REQUIRE(entry != nullptr);
    CHECK(entry->group == group);
    CHECK(entry->json == expected.dump());
}

void check_names(std::span<const embedded::Name> names, std::span<const embedded::Entry> entries) {
    CHECK(std::is_sorted(names.begin(), names.end(), [](const embedded::Name& a, const embedded::Name& b) {
        return a.key != b.key ? a.key < b.key : a.written < b.written;
    }));
    std::set<std::string_view> ids;
    for (const embedded::Name& name : names) {
        INFO(name.written);
        REQUIRE(name.entry < entries.size());
        CHECK(name.key == vramfit::normalize_name(name.written));
        if (name.written == entries[name.entry].id) ids.insert(name.written);
    }
    CHECK(ids.size() == entries.size()); // every entry is found under its id
}

/// A name of the data leads to the entry that has it.
void check_leads_to(std::span<const embedded::Name> names, std::span<const embedded::Entry> entries, const Json& entry,
                    const std::string& written) {
    INFO(written);
    const auto hits = embedded::with_key(names, vramfit::normalize_name(written));
    CHECK(std::any_of(hits.begin(), hits.end(), [&](const embedded::Name& name) {
        return name.written == written && entries[name.entry].id == entry.at("id").get<std::string>();
    }));
}

} // namespace

TEST_CASE("every data file is embedded, minified: architectures self-contained, the others as they are") {
    const Json common = parse_file(fs::path(VRAMFIT_DATA_DIR) / "architectures/common.json");
    std::size_t n_files = 0;
    for (const char* folder : {".", "architectures", "command_lines", "schema"}) {
        for (const fs::path& path : json_files(folder)) {
            const std::string name = path.lexically_normal().lexically_relative(VRAMFIT_DATA_DIR).generic_string();
            if (name == "gpus.json") continue; // entries, see gpus()
            INFO(name);
            ++n_files;
            REQUIRE(embedded::file(name).has_value());
            const Json document = parse_file(path);
            const bool merged = name.starts_with("architectures/") && path.filename() != "common.json";
            CHECK(*embedded::file(name) == (merged ? vramfit::self_contained(document, common) : document).dump());
        }
    }
    CHECK(embedded::files().size() == n_files);
    CHECK(std::is_sorted(embedded::files().begin(), embedded::files().end()));
}

TEST_CASE("an embedded architecture is its file and parts of common.json, nothing else") {
    const Json common = parse_file(fs::path(VRAMFIT_DATA_DIR) / "architectures/common.json");
    for (const fs::path& path : json_files("architectures")) {
        if (path.filename() == "common.json") continue;
        INFO(path.filename());
        const Json own = parse_file(path);
        const Json text = Json::parse(*embedded::file("architectures/" + path.filename().string()));
        for (const auto& [key, value] : own.items()) {
            if (key != "symbols" && key != "inputs" && key != "blocks" && key != "caches") CHECK(text.at(key) == value);
        }
        for (const char* part : {"symbols", "inputs", "blocks"}) {
            const Json none = Json::object();
            const Json of_file = own.value(part, none);
            const Json of_common = common.value(part, none);
            const Json embedded_part = text.value(part, none);
            for (const auto& [name, value] : of_file.items()) CHECK(text.at(part).at(name) == value);
            for (const auto& [name, value] : embedded_part.items()) {
                INFO(part << ' ' << name);
                CHECK(value == (of_file.contains(name) ? of_file : of_common).at(name));
            }
        }
        CHECK(text.value("caches", Json::array()).size() == own.value("caches", Json::array()).size());
    }
}

TEST_CASE("an embedded architecture reads alone as its file reads with common.json") {
    std::ifstream in(fs::path(VRAMFIT_DATA_DIR) / "architectures/common.json");
    const std::string common{std::istreambuf_iterator<char>(in), {}};
    for (const fs::path& path : json_files("architectures")) {
        if (path.filename() == "common.json") continue;
        INFO(path.filename());
        const auto file = vramfit::Architecture::parse(parse_file(path).dump(), common, path.filename().string());
        const auto embedded_one = vramfit::Architecture::parse(
            *embedded::file("architectures/" + path.filename().string()), "{}", path.filename().string());
        CHECK(embedded_one->name == path.stem().string());
        CHECK(embedded_one->tensor_templates.size() == file->tensor_templates.size());
        CHECK(embedded_one->caches.size() == file->caches.size());
        CHECK(embedded_one->graph.inputs.size() == file->graph.inputs.size());
        CHECK(embedded_one->graph.pre.size() == file->graph.pre.size());
        CHECK(embedded_one->graph.layer.size() == file->graph.layer.size());
        CHECK(embedded_one->graph.head.size() == file->graph.head.size());
        CHECK(embedded_one->graph.layer.size() > 5);
    }
}

TEST_CASE("a path that is no data file gives nothing") {
    CHECK_FALSE(embedded::file("").has_value());
    CHECK_FALSE(embedded::file("architectures/no-such.json").has_value());
    CHECK_FALSE(embedded::file("gpus.json").has_value()); // entries, see gpus()
    CHECK_FALSE(embedded::file("zzz").has_value());       // behind the last
}

TEST_CASE("every model of every family is an entry of its own") {
    std::size_t n_models = 0;
    for (const fs::path& path : json_files("models")) {
        const Json document = parse_file(path);
        for (const Json& model : document.at("models")) {
            ++n_models;
            check_entry(embedded::models(), model, document.at("family"));
            for (const Json& alias : model.value("aliases", Json::array())) {
                check_leads_to(embedded::model_names(), embedded::models(), model, alias);
            }
        }
    }
    CHECK(embedded::models().size() == n_models);
}

TEST_CASE("every GPU is an entry of its own") {
    std::size_t n_gpus = 0;
    for (const fs::path& path : json_files(".")) {
        if (path.filename() != "gpus.json") continue;
        const Json document = parse_file(path); // outlives the loop over a part of it
        for (const Json& gpu : document.at("gpus")) {
            ++n_gpus;
            check_entry(embedded::gpus(), gpu, gpu.at("vendor"));
            for (const Json& alias : gpu.value("aliases", Json::array())) {
                check_leads_to(embedded::gpu_names(), embedded::gpus(), gpu, alias);
            }
        }
    }
    CHECK(embedded::gpus().size() == n_gpus);
}

TEST_CASE("the indexes of names are sorted, normalised and complete") {
    check_names(embedded::model_names(), embedded::models());
    check_names(embedded::gpu_names(), embedded::gpus());
}

TEST_CASE("a key finds all names with that key and no other") {
    const std::vector<embedded::Name> names = {{"a", "A", 0}, {"b", "B", 1}, {"b", "b", 2}, {"c", "c", 3}};
    CHECK(embedded::with_key(names, "b").size() == 2);
    CHECK(embedded::with_key(names, "b")[0].written == "B");
    CHECK(embedded::with_key(names, "a").size() == 1);
    CHECK(embedded::with_key(names, "").empty());
    CHECK(embedded::with_key(names, "ab").empty());
    CHECK(embedded::with_key(names, "d").empty());
    CHECK(embedded::with_key({}, "a").empty());
}
