#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The names under which publishers put models up, and what stands in them beside the model's own
/// (data/model_names.json): "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "unsloth/Qwen3-8B-GGUF", "Qwen3-8B-AWQ".

/// A name taken apart.
struct ModelName {
    std::vector<std::string> spellings; ///< what a catalog may know it by, the more literal first
    std::string type;                   ///< as it stands in the name: "Q4_K_M", "UD-Q4_K_XL", "AWQ"; empty: none does
    std::string quant;                  ///< the file type or weight format that `type` is, or is near to
    bool near = false;                  ///< it is only near
};

ModelName take_apart(std::string_view given);

/// The tag that Ollama's library has for a name without one; empty where that is not known.
std::string default_ollama_tag(std::string_view name);

/// A file type that the name of a file ends with: "Q4_K_M" of "x-Q4_K_M.gguf" and of "x-Q4_K_M"; empty where there is
/// none.
std::string file_type_of_name(std::string_view file);

} // namespace vramfit
