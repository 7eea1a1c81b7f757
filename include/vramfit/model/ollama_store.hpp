#pragma once

#include "vramfit/base/environment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// Models as Ollama keeps them: a manifest for each name, manifests/HOST/NAMESPACE/MODEL/TAG, and the files that it
/// lists under their digests, blobs/sha256-... (Ollama's manifest/*.go and types/model/name.go).

/// The folders in which Ollama may keep models: OLLAMA_MODELS alone where it is set, else the user's own and, on Linux,
/// that of the system's service (Ollama's docs/faq.mdx).
std::vector<std::string> ollama_folders(const Environment& environment);

/// A name taken apart: [HOST/][NAMESPACE/]MODEL[:TAG], as in "llama3.1:8b" or "hf.co/bartowski/X-GGUF:Q4_K_M".
struct OllamaName {
    std::string host = "registry.ollama.ai";
    std::string space = "library";
    std::string model;
    std::string tag = "latest";

    std::string text() const; ///< as short as it is unambiguous, always with the tag
};

/// Throws Error for what Ollama takes for no name: empty parts, other characters, anything that leads out of a folder.
OllamaName parse_ollama_name(std::string_view text);

/// What a manifest says of the files of a model. Digests are those of the manifest: "sha256:" and 64 hex digits.
struct OllamaManifest {
    std::optional<std::string> model, projector, params, draft;
    std::vector<std::string> adapters;
    std::uint64_t bytes = 0;  ///< of all layers
    bool safetensors = false; ///< a model in Ollama's own form, without a GGUF file
};

/// `shown` names the manifest in messages. Throws Error for what is no manifest: other JSON, digests that are none.
OllamaManifest parse_ollama_manifest(std::string_view text, std::string_view shown);

/// The context that a params layer sets ("num_ctx"), if it does. Throws Error as above.
std::optional<std::uint64_t> parse_ollama_params(std::string_view text, std::string_view shown);

/// A model of the store with the files that it consists of.
struct OllamaModel {
    std::string name; ///< "llama3.1:8b"
    std::string file; ///< the GGUF file
    std::optional<std::string> projector;
    std::optional<std::string> draft;
    std::vector<std::string> adapters;
    std::optional<std::uint64_t> n_ctx;
};

/// Resolves a name. Throws Error where there is no store, no such model in it (near ones named), where one of its files
/// is missing, or where a link leads out of the store.
OllamaModel find_ollama_model(std::string_view name, const Environment& environment);

/// A name that the store has, and the bytes that its layers say they have; 0 where the manifest cannot be read.
struct OllamaListing {
    std::string name;
    std::uint64_t bytes = 0;
};

/// Every name of every folder, sorted. Never throws for what it finds: a broken manifest has no size.
std::vector<OllamaListing> list_ollama_models(const Environment& environment);

} // namespace vramfit
