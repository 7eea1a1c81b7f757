#pragma once

#include "judge.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How the runtime writes settings: -1 GPU layers as "99", flash attention as "on", and so on.
std::string gpu_layers_text(const Model& model, std::int64_t n_gpu_layers);
std::string flash_attn_text(FlashAttention flash_attn);

/// Is the model the one that a command line named, by a name of that kind?
bool is_as_said(const Request& request, std::string_view kind);

/// The name of the model's file on a command line: the file that was read or named, or "MODEL.gguf", with the file type where
/// that is the news ("MODEL-Q3_K_M.gguf").
/// A runtime that knows models by name is given the name.
std::string model_file(const RuntimeProfile& runtime, const Model& model, const Request& request);
std::string model_file(const RuntimeProfile& runtime, FileType file_type);

/// How the runtime is told what a request says.
struct Command {
    std::string text;                   ///< for a shell: variables, program, flags
    bool has_variables = false;         ///< the text sets some
    std::vector<std::string> elsewhere; ///< what is to be set in the runtime's window or files
    std::vector<std::string> unsaid;    ///< settings that it does not have
};

Command command_of(const Judge& judge, const Request& request, const std::string& file);

/// The runtime's command line for the request: what was said, the context, and the layers on the GPU.
std::string command_line(const Judge& judge, const Request& request, const std::string& file);

} // namespace vramfit
