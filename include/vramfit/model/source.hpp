#pragma once

#include "vramfit/base/byte_stream.hpp"
#include "vramfit/base/environment.hpp"
#include "vramfit/model/model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Where models may come from beside the bundled catalog.
struct ModelSources {
    std::vector<std::string> catalogs;               ///< files of further models, before the bundled ones
    Environment environment = process_environment(); ///< tells where stores and catalogs lie
    ByteStream standard_input;                       ///< of the model "-"; empty: none
};

/// A model, and what its source says beside its shape.
struct SourcedModel {
    Model model;
    std::optional<std::uint64_t> n_ctx;     ///< the context that the source wants it to run with (Ollama's num_ctx)
    std::optional<std::string> projector;   ///< file of the projector that belongs to it
    std::vector<std::string> notes;         ///< what an answer should mention
    std::vector<std::string> adapters = {}; ///< files of the LoRA adapters that belong to it
    std::optional<std::string> file = {};   ///< what llama.cpp would load, where that is not what was asked for
};

/// The model that `name` means: "-" (standard input), "ollama:NAME", a file or folder that exists and looks like one
/// (a slash in it, a file's ending, a config.json in the folder), else a name of the catalogs, the user's own first. Throws Error where there is
/// none such, where it cannot be read, and for a model that llama.cpp cannot load.
SourcedModel load_model(std::string_view name, const ModelSources& sources);

/// Makes the model of a file the one that llama-quantize would make of it: the types of an unquantized file (F32, F16,
/// BF16) become open. Does nothing where the types are open, as those of a catalog model, or already of that file type;
/// throws Error for a file with other quantized weights.
void ask_for_quant(SourcedModel& loaded, std::string_view quant);

/// Whether `name` is a file's or folder's, or standard input, rather than a name of the catalogs: the weights of such a
/// model may have types of their own, so that nobody need say which.
bool has_own_types(std::string_view name);

} // namespace vramfit
