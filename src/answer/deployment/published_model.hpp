#pragma once

#include "vramfit/model/source.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace vramfit {

/// A model as a runtime's settings name it, made one that vramfit can ask about. What is on this computer is taken as it
/// is; what is not is looked up in the catalog by the name.
struct PublishedModel {
    std::string name;                 ///< what to ask with: a path, "ollama:NAME", an id of the catalog
    std::optional<std::string> quant; ///< the file type that the name says, or that the runtime would take
    std::string note;                 ///< what an answer should say of it; empty: nothing
};

/// `kind`: "file" (a path, a URL), "gguf_repository" (OWNER/REPOSITORY[:TYPE], Q4_K_M where it says no type),
/// "repository" (of Hugging Face, or a folder), "ollama" (a name of its library) or "lmstudio" (a model key).
/// A name that neither this computer nor the catalog has stays as it is.
PublishedModel find_published(const std::string& text, std::string_view kind, const ModelSources& sources);

} // namespace vramfit
