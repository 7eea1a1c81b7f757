#include "catch.hpp"
#include "support/ollama_folder.hpp"
#include "vramfit/model/file_stores.hpp"

#include <filesystem>

using namespace vramfit;
using namespace vramfit::test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

/// "STORE TITLE BYTES" of each.
Names found(const std::vector<InstalledModel>& models) {
    Names names;
    for (const InstalledModel& model : models)
        names.push_back(model.store + " " + model.title + " " + std::to_string(model.bytes));
    return names;
}

void sized(const fs::path& path, std::uint64_t bytes) {
    write_text(path, "");
    fs::resize_file(path, bytes);
}

} // namespace

TEST_CASE("installed models: every store with names to ask with", "[file_stores]") {
    const TempFolder home;
    const OllamaFolder ollama;
    ollama.add_small();
    sized(home.path() / ".lmstudio/models/me/Model-GGUF/Model-Q4_K_M.gguf", 5000);
    sized(home.path() / ".lmstudio/models/me/Model-GGUF/mmproj-Model-f16.gguf", 100);
    sized(home.path() / ".lmstudio/models/me/Model-MLX/model.safetensors", 700);
    write_text(home.path() / ".lmstudio/models/me/Model-MLX/config.json", "{}");
    sized(home.path() / ".cache/llama.cpp/me_Big-00001-of-00002.gguf", 10);
    sized(home.path() / ".cache/llama.cpp/me_Big-00002-of-00002.gguf", 20);
    sized(home.path() / ".cache/llama.cpp/manifest=me=Big.json", 20);
    const auto hub = home.path() / ".cache/huggingface/hub/models--me--Hub-Model";
    sized(hub / "blobs/aa", 300);
    sized(hub / "blobs/bb", 40);
    write_text(hub / "snapshots/0123/config.json", "{}");
    fs::create_symlink("../../blobs/aa", hub / "snapshots/0123/model-00001-of-00002.safetensors");
    fs::create_symlink("../../blobs/bb", hub / "snapshots/0123/model-00002-of-00002.safetensors");
    const auto models =
        installed_models(variables({{"HOME", home.path().string()}, {"OLLAMA_MODELS", ollama.path().string()}}));
    CHECK(found(models) == Names{"huggingface me/Hub-Model 340", "llama.cpp me_Big-00001-of-00002.gguf 30",
                                 "lmstudio Model-MLX 700", "lmstudio Model-Q4_K_M.gguf 5000", "ollama small:q8 1050"});
    CHECK(models[0].model == (hub / "snapshots/0123").string());
    CHECK(models[1].model == (home.path() / ".cache/llama.cpp/me_Big-00001-of-00002.gguf").string());
    CHECK(models[4].model == "ollama:small:q8");
}

TEST_CASE("installed models: links out of a store and loops are left out", "[file_stores]") {
    const TempFolder cache;
    const TempFolder outside;
    sized(outside.path() / "other.gguf", 10);
    sized(cache.path() / "own.gguf", 10);
    fs::create_symlink(outside.path() / "other.gguf", cache.path() / "linked.gguf");
    fs::create_symlink(cache.path() / "gone.gguf", cache.path() / "dangling.gguf");
    fs::create_directory_symlink(cache.path(), cache.path() / "loop");
    const auto models = installed_models(
        variables({{"LLAMA_CACHE", cache.path().string()}, {"OLLAMA_MODELS", outside.path().string()}}));
    CHECK(found(models) == Names{"llama.cpp own.gguf 10"});
}

TEST_CASE("installed models: variables that move the caches", "[file_stores]") {
    CHECK(huggingface_folders(variables({{"HF_HUB_CACHE", "/hub"}, {"HF_HOME", "/hf"}})) == Names{"/hub"});
    CHECK(huggingface_folders(variables({{"HF_HOME", "/hf"}, {"HOME", "/me"}})) == Names{"/hf/hub"});
    CHECK(huggingface_folders(variables({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/me"}})) == Names{"/c/huggingface/hub"});
    CHECK(huggingface_folders(variables({{"HOME", "/me"}})) == Names{"/me/.cache/huggingface/hub"});
    CHECK(huggingface_folders(empty_environment()).empty());
    CHECK(llama_cpp_folders(variables({{"LLAMA_CACHE", "/l"}, {"HOME", "/me"}})) == Names{"/l"});
    CHECK(llama_cpp_folders(variables({{"HOME", "/me"}})).front() == "/me/.cache/llama.cpp");
    CHECK(lmstudio_folders(variables({{"HOME", "/me"}})) ==
          Names{"/me/.lmstudio/models", "/me/.cache/lm-studio/models"});
}
