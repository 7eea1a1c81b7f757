#pragma once

#include "vramfit/model/source.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace vramfit {

/// Models as Hugging Face keeps them: a folder with config.json beside safetensors files.
///
/// llama.cpp runs such a model after convert_hf_to_gguf.py has made a GGUF file of it. So the model of a folder is the
/// one of that file: the architecture, hyperparameters and tensors that the converter would write, the types still open
/// (`--quant`). What the folder stores now is another question: see `hf_weights` in safetensors.hpp.
///
/// Which key of a config becomes which hyperparameter is data: data/hf_model_types.json, described in
/// src/model/hf_mapping.hpp. A model_type that is not in it is an Error that names the near ones; nothing is guessed.
/// MTP blocks are left out, as `--no-mtp` leaves them out, except where llama.cpp's own files always carry them (GLM-4.5).

/// The model of `path`: a folder that holds a config.json, or the config.json itself. Throws Error.
SourcedModel model_from_hf(const std::filesystem::path& path);

/// The model of the text of a config.json. `shown` names it in messages, `id` is the model's name.
SourcedModel model_from_hf_config(std::string_view text, std::string_view shown, std::string_view id);

/// Whether `path` is a folder with a config.json in it, or a file of that name.
bool is_hf_model(const std::filesystem::path& path);

} // namespace vramfit
