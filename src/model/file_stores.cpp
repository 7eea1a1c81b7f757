#include "vramfit/model/file_stores.hpp"

#include "store_folder.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/ollama_store.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

using Folders = std::vector<std::string>;

constexpr int depth_of_files = 5; // models--OWNER--NAME/snapshots/COMMIT/FOLDER/FILE

/// Where programs keep what they can fetch again: XDG_CACHE_HOME, else ~/.cache.
std::optional<fs::path> cache_folder(const Environment& environment) {
    if (const auto folder = set_variable(environment, "XDG_CACHE_HOME")) return fs::path(*folder);
    if (const auto home = home_folder(environment)) return *home / ".cache";
    return std::nullopt;
}

bool is_projector(std::string_view file) { return lower(file).find("mmproj") != std::string::npos; }

/// A part of a split set: "NAME-00002-of-00005.gguf" (llama.cpp, llama_split_path).
struct Part {
    std::string set; ///< what all parts have in common
    std::string number;
};

std::optional<Part> part_of(const fs::path& path) {
    constexpr std::string_view pattern = "-00000-of-00000.gguf";
    const std::string text = path.string();
    if (text.size() <= pattern.size()) return std::nullopt;
    const std::size_t start = text.size() - pattern.size();
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const char c = text[start + i];
        const bool good = pattern[i] == '0' ? c >= '0' && c <= '9' : c == pattern[i];
        if (!good) return std::nullopt;
    }
    return Part{text.substr(0, start) + text.substr(start + 6), text.substr(start + 1, 5)};
}

/// A repository's name from its folder in the hub's cache: "models--OWNER--NAME" (huggingface_hub, repo_folder_name).
std::string repository_of(const fs::path& folder, const fs::path& file) {
    constexpr std::string_view prefix = "models--";
    const std::string first = file.lexically_relative(folder).begin()->string();
    if (!first.starts_with(prefix)) return {};
    std::string name = first.substr(prefix.size());
    const std::size_t dashes = name.find("--");
    if (dashes != std::string::npos) name.replace(dashes, 2, "/");
    return name;
}

/// Puts the files of one folder together into models.
class Gathering {
public:
    Gathering(std::string store, fs::path folder) : store_(std::move(store)), folder_(std::move(folder)) {}

    std::vector<InstalledModel> run() {
        for (const FoundFile& file : files_in(folder_, depth_of_files)) {
            const std::string name = file.path.filename().string();
            if (lower(name).ends_with(".gguf") && !is_projector(name))
                add_gguf(file);
            else if (lower(name).ends_with(".safetensors"))
                safetensors_[file.path.parent_path()] += file.bytes;
            else if (name == "config.json")
                configured_.insert(file.path.parent_path());
        }
        for (const auto& [folder, bytes] : safetensors_) {
            if (configured_.contains(folder)) models_.push_back({store_, title_of(folder), folder.string(), bytes});
        }
        return std::move(models_);
    }

private:
    void add_gguf(const FoundFile& file) {
        const auto part = part_of(file.path);
        if (!part) {
            models_.push_back({store_, title_of(file.path), file.path.string(), file.bytes});
            return;
        }
        // Sorted by path, so the first part comes first; a set without it is asked for by the first that is there.
        const auto [known, added] = sets_.try_emplace(part->set, models_.size());
        if (added)
            models_.push_back({store_, title_of(file.path), file.path.string(), file.bytes});
        else
            models_[known->second].bytes += file.bytes;
    }

    /// The repository in front of a file of the hub; of other folders the last name.
    std::string title_of(const fs::path& path) const {
        const std::string repository = store_ == "huggingface" ? repository_of(folder_, path) : "";
        const bool is_file = path.extension() == ".gguf";
        if (repository.empty()) return path.filename().string();
        return is_file ? repository + "/" + path.filename().string() : repository;
    }

    std::string store_;
    fs::path folder_;
    std::vector<InstalledModel> models_;
    std::map<std::string, std::size_t> sets_; ///< index into `models_`
    std::map<fs::path, std::uint64_t> safetensors_;
    std::set<fs::path> configured_;
};

void add(std::vector<InstalledModel>& models, const std::string& store, const Folders& folders) {
    for (const std::string& folder : folders) {
        for (InstalledModel& model : Gathering(store, folder).run()) models.push_back(std::move(model));
    }
}

} // namespace

Folders lmstudio_folders(const Environment& environment) {
    Folders folders;
    if (const auto home = home_folder(environment)) {
        folders.push_back((*home / ".lmstudio" / "models").string());
        folders.push_back((*home / ".cache" / "lm-studio" / "models").string()); // before version 0.3
    }
    return folders;
}

Folders llama_cpp_folders(const Environment& environment) {
    if (const auto folder = set_variable(environment, "LLAMA_CACHE")) return {*folder};
    Folders folders; // common/common.cpp, fs_get_cache_directory
    if (const auto cache = cache_folder(environment)) folders.push_back((*cache / "llama.cpp").string());
    if (const auto home = home_folder(environment))
        folders.push_back((*home / "Library" / "Caches" / "llama.cpp").string());
    if (const auto local = set_variable(environment, "LOCALAPPDATA"))
        folders.push_back((fs::path(*local) / "llama.cpp").string());
    return folders;
}

Folders huggingface_folders(const Environment& environment) {
    for (const std::string_view name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
        if (const auto folder = set_variable(environment, name)) return {*folder};
    }
    if (const auto home = set_variable(environment, "HF_HOME")) return {(fs::path(*home) / "hub").string()};
    if (const auto cache = cache_folder(environment)) return {(*cache / "huggingface" / "hub").string()};
    return {};
}

std::vector<InstalledModel> installed_models(const Environment& environment) {
    std::vector<InstalledModel> models;
    for (const OllamaListing& model : list_ollama_models(environment))
        models.push_back({"ollama", model.name, "ollama:" + model.name, model.bytes});
    add(models, "lmstudio", lmstudio_folders(environment));
    add(models, "llama.cpp", llama_cpp_folders(environment));
    add(models, "huggingface", huggingface_folders(environment));
    const auto order = [](const InstalledModel& m) { return std::tie(m.store, m.title, m.model); };
    std::ranges::stable_sort(models, {}, order);
    return models;
}

} // namespace vramfit
