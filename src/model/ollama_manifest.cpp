#include "hf_file.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/ollama_store.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vramfit {
namespace {

using Json = nlohmann::json;

constexpr std::string_view media_prefix = "application/vnd.ollama.image.";
constexpr std::size_t digest_digits = 64;

[[noreturn]] void fail(std::string_view shown, const std::string& message) {
    throw Error(std::string(shown) + ": " + message);
}

/// "sha256:" or "sha256-" and 64 hex digits: nothing that could name another file (types/model/name.go).
bool is_digest(std::string_view text) {
    constexpr std::string_view start = "sha256";
    if (text.size() != start.size() + 1 + digest_digits || !text.starts_with(start)) return false;
    if (text[start.size()] != ':' && text[start.size()] != '-') return false;
    return text.find_first_not_of("0123456789abcdefABCDEF", start.size() + 1) == std::string_view::npos;
}

std::string digest_of(const Json& layer, std::string_view shown) {
    const auto digest = layer.find("digest");
    if (digest == layer.end() || !digest->is_string()) fail(shown, "a layer has no \"digest\"");
    const auto& text = digest->get_ref<const std::string&>();
    if (!is_digest(text)) fail(shown, "\"digest\" must be sha256 and 64 hex digits, not " + quote(text));
    return text;
}

std::uint64_t size_of(const Json& layer, std::string_view shown) {
    const auto size = layer.find("size");
    if (size == layer.end()) return 0;
    if (!size->is_number_unsigned()) fail(shown, "\"size\" of a layer must be a whole number");
    return size->get<std::uint64_t>();
}

void read_layer(OllamaManifest& manifest, const Json& layer, std::string_view shown) {
    if (!layer.is_object()) fail(shown, "a layer must be an object");
    const auto media_type = layer.find("mediaType");
    if (media_type == layer.end() || !media_type->is_string()) fail(shown, "a layer has no \"mediaType\"");
    std::string_view type = media_type->get_ref<const std::string&>();
    manifest.bytes = checked_add(manifest.bytes, size_of(layer, shown), "the size of " + std::string(shown));
    if (!type.starts_with(media_prefix)) return;
    type.remove_prefix(media_prefix.size());
    const auto take = [&](std::optional<std::string>& place) { // the first one counts
        const std::string digest = digest_of(layer, shown);
        if (!place) place = digest;
    };
    if (type == "model") take(manifest.model);
    if (type == "projector") take(manifest.projector);
    if (type == "params") take(manifest.params);
    if (type == "draft") take(manifest.draft);
    if (type == "adapter") manifest.adapters.push_back(digest_of(layer, shown));
    if (type == "tensor") manifest.safetensors = true;
}

} // namespace

OllamaManifest parse_ollama_manifest(std::string_view text, std::string_view shown) {
    const Json json = parse_bounded_json(text, shown);
    if (!json.is_object()) fail(shown, "a manifest is an object with \"layers\"");
    OllamaManifest manifest;
    const auto layers = json.find("layers");
    if (layers == json.end() || layers->is_null()) return manifest; // a model in the cloud has none
    if (!layers->is_array()) fail(shown, "\"layers\" must be a list");
    for (const Json& layer : *layers) read_layer(manifest, layer, shown);
    return manifest;
}

std::optional<std::uint64_t> parse_ollama_params(std::string_view text, std::string_view shown) {
    constexpr double most = 2147483647; // llama.cpp's positions
    const Json json = parse_bounded_json(text, shown);
    if (!json.is_object()) fail(shown, "parameters are an object");
    const auto n_ctx = json.find("num_ctx");
    if (n_ctx == json.end() || n_ctx->is_null()) return std::nullopt;
    const double value = n_ctx->is_number() ? n_ctx->get<double>() : 0;
    if (!(value >= 1 && value <= most)) fail(shown, "\"num_ctx\" must be a number of tokens");
    return static_cast<std::uint64_t>(value);
}

} // namespace vramfit
