#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// A program that runs models by a library of others: llama.cpp, PyTorch or its own. A log of it looks like one of the
/// library's, and yet the library's options are not the program's.
struct ProgramInfo {
    std::string_view name;
    std::span<const std::string_view> marks; ///< what only its logs have
    bool llama_cpp = false;                  ///< the estimator speaks for it
    bool language_models = true;             ///< else nothing that vramfit sizes
    /// What it calls a setting: pairs of a kind, as in flags_of, and its words, "|" between them and "{}" for the value.
    std::span<const std::pair<std::string_view, std::string_view>> words;
};

std::span<const ProgramInfo> programs();

/// The program of that name, or nullptr.
const ProgramInfo* find_program(std::string_view name);

/// What the program is told for `kind`, a word each; empty where its words are not known.
std::vector<std::string> program_words(const ProgramInfo& program, std::string_view kind, std::string_view value);

} // namespace vramfit
