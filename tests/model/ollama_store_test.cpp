#include "catch.hpp"
#include "support/errors.hpp"
#include "support/ollama_folder.hpp"
#include "vramfit/model/ollama_store.hpp"

#include <filesystem>

using namespace vramfit;
using namespace vramfit::test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

std::string manifest_error(const std::string& text) {
    return error_of([&] { parse_ollama_manifest(text, "M"); });
}

Names listed(const OllamaFolder& store) {
    Names names;
    for (const OllamaListing& model : list_ollama_models(store.environment())) names.push_back(model.name);
    return names;
}

} // namespace

TEST_CASE("Ollama: names have defaults", "[ollama]") {
    struct Case {
        const char *name, *host, *space, *model, *tag, *text;
    };
    for (const Case& c :
         {Case{"llama3.1", "registry.ollama.ai", "library", "llama3.1", "latest", "llama3.1:latest"},
          Case{"llama3.1:8b", "registry.ollama.ai", "library", "llama3.1", "8b", "llama3.1:8b"},
          Case{"me/mine:x", "registry.ollama.ai", "me", "mine", "x", "me/mine:x"},
          Case{"hf.co/bartowski/X-GGUF:Q4_K_M", "hf.co", "bartowski", "X-GGUF", "Q4_K_M",
               "hf.co/bartowski/X-GGUF:Q4_K_M"},
          Case{"localhost:5000/a/b", "localhost:5000", "a", "b", "latest", "localhost:5000/a/b:latest"}}) {
        const OllamaName name = parse_ollama_name(c.name);
        CHECK(name.host == c.host);
        CHECK(name.space == c.space);
        CHECK(name.model == c.model);
        CHECK(name.tag == c.tag);
        CHECK(name.text() == c.text);
    }
}

TEST_CASE("Ollama: no name leads out of the store", "[ollama]") {
    for (const char* const name : {"", ":", "a:", ":8b", "../a", "a/../b", "..", "a/b/c/d", "a b", "a\\b", "/a", "a//b",
                                   ".a", "a:../b", "a:..", "a:b:c", "a\nb"}) {
        INFO(name);
        CHECK(contains(error_of([&] { parse_ollama_name(name); }), " is no name of an Ollama model"));
    }
    CHECK(error_of([] { parse_ollama_name(std::string(81, 'a')); }) != "no error");
}

TEST_CASE("Ollama: a name resolves to its files", "[ollama]") {
    const OllamaFolder store;
    store.add_small();
    const OllamaModel model = find_ollama_model("small:q8", store.environment());
    CHECK(model.name == "small:q8");
    CHECK(model.file == store.blob(1).string());
    CHECK(model.projector == store.blob(3).string());
    CHECK(model.n_ctx == 2048);
    CHECK(model.adapters.empty());
    CHECK(find_ollama_model("Small:Q8", store.environment()).file == model.file); // letter case forgiven
}

TEST_CASE("Ollama: latest, namespaces, other hosts, adapters and drafts", "[ollama]") {
    const OllamaFolder store;
    write_small_gguf(store.blob(1));
    write_text(store.blob(5), "adapter");
    write_text(store.blob(6), "draft");
    const std::string layers = OllamaFolder::layer("model", 1) + "," + OllamaFolder::layer("adapter", 5) + "," +
                               OllamaFolder::layer("draft", 6);
    store.manifest("registry.ollama.ai/library/plain/latest", OllamaFolder::layer("model", 1));
    store.manifest("hf.co/me/X-GGUF/Q4_K_M", layers);
    CHECK(find_ollama_model("plain", store.environment()).file == store.blob(1).string());
    const OllamaModel model = find_ollama_model("hf.co/me/X-GGUF:Q4_K_M", store.environment());
    CHECK(model.adapters == Names{store.blob(5).string()});
    CHECK(model.draft == store.blob(6).string());
    CHECK_FALSE(model.n_ctx);
    CHECK(listed(store) == Names{"hf.co/me/X-GGUF:Q4_K_M", "plain:latest"});
    CHECK(list_ollama_models(store.environment())[0].bytes == 3000);
}

TEST_CASE("Ollama: what is not there is told with what is", "[ollama]") {
    const OllamaFolder store;
    CHECK(contains(error_of([&] { find_ollama_model("small:q8", store.environment()); }),
                   "no Ollama model is installed"));
    store.add_small();
    CHECK(error_of([&] { find_ollama_model("small:q4", store.environment()); }) ==
          "Ollama has no model \"small:q4\"; did you mean small:q8?");
    CHECK(error_of([&] { find_ollama_model("zzz", store.environment()); }) ==
          "Ollama has no model \"zzz:latest\"; 'vramfit models --installed' lists what there is");
    fs::remove(store.blob(3));
    CHECK(contains(error_of([&] { find_ollama_model("small:q8", store.environment()); }),
                   "the projector of \"small:q8\" is missing from Ollama's store"));
    fs::remove(store.blob(1));
    CHECK(contains(error_of([&] { find_ollama_model("small:q8", store.environment()); }),
                   "the GGUF file of \"small:q8\" is missing from Ollama's store"));
}

TEST_CASE("Ollama: models without a GGUF file", "[ollama]") {
    const OllamaFolder store;
    store.manifest("registry.ollama.ai/library/mlx/latest", OllamaFolder::layer("tensor", 1));
    store.manifest("registry.ollama.ai/library/far/cloud", "");
    CHECK(error_of([&] { find_ollama_model("mlx", store.environment()); }) ==
          "Ollama's model \"mlx:latest\" has no GGUF file: it is kept as safetensors");
    CHECK(error_of([&] { find_ollama_model("far:cloud", store.environment()); }) ==
          "Ollama's model \"far:cloud\" has no GGUF file: it has no weights on this computer");
}

TEST_CASE("Ollama: links out of the store are refused", "[ollama]") {
    const OllamaFolder store;
    const TempFolder outside;
    write_small_gguf(outside.path() / "model.gguf");
    store.add_small();
    fs::remove(store.blob(1));
    fs::create_symlink(outside.path() / "model.gguf", store.blob(1));
    CHECK(contains(error_of([&] { find_ollama_model("small:q8", store.environment()); }),
                   "the GGUF file of \"small:q8\" is a link that leads out of Ollama's store"));
    const fs::path tag = store.path() / "manifests/registry.ollama.ai/library/small/linked";
    write_text(outside.path() / "manifest", OllamaFolder::manifest_text(OllamaFolder::layer("model", 1)));
    fs::create_symlink(outside.path() / "manifest", tag);
    CHECK(contains(error_of([&] { find_ollama_model("small:linked", store.environment()); }), "a link that leads out"));
    CHECK(listed(store) == Names{"small:q8"});
    fs::create_directory_symlink(store.path(), store.path() / "manifests/registry.ollama.ai/library/loop");
    CHECK(listed(store) == Names{"small:q8"});
}

TEST_CASE("Ollama: a broken manifest is told, and listed without a size", "[ollama]") {
    const OllamaFolder store;
    write_text(store.path() / "manifests/registry.ollama.ai/library/broken/latest", "{");
    CHECK(contains(error_of([&] { find_ollama_model("broken", store.environment()); }),
                   "the manifest of \"broken:latest\", line 1: not valid JSON"));
    write_text(store.path() / "manifests/registry.ollama.ai/library/large/latest", std::string(5000000, ' '));
    CHECK(contains(error_of([&] { find_ollama_model("large", store.environment()); }), "at most 4 MiB"));
    fs::create_directories(store.path() / "manifests/registry.ollama.ai/library/folder/latest");
    CHECK(error_of([&] { find_ollama_model("folder", store.environment()); }) != "no error");
    CHECK(listed(store) == Names{"broken:latest", "large:latest"});
    CHECK(list_ollama_models(store.environment())[0].bytes == 0);
}

TEST_CASE("Ollama: manifests that lie", "[ollama]") {
    const auto layer = [](const std::string& digest, const std::string& size) {
        return R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": ")" + digest +
               R"(", "size": )" + size + "}]}";
    };
    const std::string good = "sha256:" + OllamaFolder::hex(1);
    CHECK(parse_ollama_manifest(layer(good, "7"), "M").model == good);
    CHECK(parse_ollama_manifest(layer(good, "7"), "M").bytes == 7);
    CHECK(parse_ollama_manifest(layer("sha256-" + OllamaFolder::hex(1), "7"), "M").model);
    for (const char* const digest : {"", "sha256:", "sha256:../../../../etc/passwd", "md5:00"}) {
        CHECK(contains(manifest_error(layer(digest, "7")), "M: \"digest\" must be sha256 and 64 hex digits, not "));
    }
    CHECK(contains(manifest_error(layer(good + "/", "7")), "64 hex digits"));
    CHECK(contains(manifest_error(layer("sha256:" + std::string(63, '0') + ".", "7")), "64 hex digits"));
    CHECK(manifest_error(layer(good, "-7")) == "M: \"size\" of a layer must be a whole number");
    CHECK(manifest_error(layer(good, "\"7\"")) == "M: \"size\" of a layer must be a whole number");
    CHECK(manifest_error("[]") == "M: a manifest is an object with \"layers\"");
    CHECK(manifest_error(R"({"layers": {}})") == "M: \"layers\" must be a list");
    CHECK(manifest_error(R"({"layers": [3]})") == "M: a layer must be an object");
    CHECK(manifest_error(R"({"layers": [{}]})") == "M: a layer has no \"mediaType\"");
    CHECK(manifest_error(R"({"layers": [{"mediaType": "application/vnd.ollama.image.model"}]})") ==
          "M: a layer has no \"digest\"");
    const std::string huge = R"({"mediaType": "x", "size": 18446744073709551615})";
    CHECK(contains(manifest_error(R"({"layers": [)" + huge + "," + huge + "]}"), "too large"));
}

TEST_CASE("Ollama: the context of the parameters", "[ollama]") {
    CHECK(parse_ollama_params(R"({"num_ctx": 8192})", "P") == 8192);
    CHECK(parse_ollama_params(R"({"num_ctx": 8192.0})", "P") == 8192);
    CHECK_FALSE(parse_ollama_params(R"({"temperature": 1})", "P"));
    for (const char* const text : {R"({"num_ctx": 0})", R"({"num_ctx": -1})", R"({"num_ctx": "8192"})",
                                   R"({"num_ctx": 1e300})", R"({"num_ctx": []})"}) {
        CHECK(error_of([&] { parse_ollama_params(text, "P"); }) == "P: \"num_ctx\" must be a number of tokens");
    }
}

TEST_CASE("Ollama: where the store is", "[ollama]") {
    CHECK(ollama_folders(variables({{"OLLAMA_MODELS", "/m"}, {"HOME", "/home/me"}})) == Names{"/m"});
    const auto folders = ollama_folders(variables({{"HOME", "/home/me"}}));
    CHECK(fs::path(folders.front()).generic_string() == "/home/me/.ollama/models");
#if defined(__linux__)
    CHECK(folders.back() == "/usr/share/ollama/.ollama/models"); // of the system's service
#endif
}
