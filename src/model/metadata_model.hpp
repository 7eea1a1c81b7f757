#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace vramfit {

/// What a runtime prints of a model: the metadata of its file, but not the table of its tensors.
struct ModelMetadata {
    std::string name;
    std::string architecture; ///< as GGUF names it; empty where nobody says
    Hparams hparams;          ///< as far as they are known
    std::optional<std::uint64_t> n_tensors;
    std::optional<std::uint64_t> n_parameters; ///< rounded to three digits, as llama.cpp prints them
};

struct MetadataModel {
    Model model;
    bool weights_known = false; ///< the tensors agree with the number of them or of parameters; else only caches count
};

/// The model of that metadata. Which optional tensors it has (an output matrix of its own, biases) is what some model of
/// the catalog of that architecture has, such that tensors and parameters are as many as they should be. Of an
/// architecture that is not described here the cache is that of plain attention. Throws Error where the metadata do not
/// suffice to size a cache.
MetadataModel model_from_metadata(const ModelMetadata& metadata);

} // namespace vramfit
