#pragma once

#include "vramfit/base/environment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// A model that a program has put on this computer.
struct InstalledModel {
    std::string store;       ///< "ollama", "lmstudio", "llama.cpp" or "huggingface"
    std::string title;       ///< for a person: file's or repository's name
    std::string model;       ///< what to ask with: "ollama:NAME", or a path
    std::uint64_t bytes = 0; ///< of all its files; 0 where not known
};

/// The folders in which LM Studio, llama.cpp (LLAMA_CACHE) and the Hugging Face hub (HF_HUB_CACHE, HF_HOME) keep models.
std::vector<std::string> lmstudio_folders(const Environment& environment);
std::vector<std::string> llama_cpp_folders(const Environment& environment);
std::vector<std::string> huggingface_folders(const Environment& environment);

/// Everything that is installed, by store and then title. A split set is one model, asked for by its first part; a
/// folder with a config.json and safetensors is one, too; projectors are none. Never throws for what it finds.
std::vector<InstalledModel> installed_models(const Environment& environment);

} // namespace vramfit
