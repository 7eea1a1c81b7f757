#include "vramfit/model/source.hpp"

#include "catalog_entry.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/gguf_model.hpp"
#include "vramfit/model/hf_config.hpp"
#include "vramfit/model/ollama_store.hpp"
#include "vramfit/model/user_catalog.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>

namespace vramfit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view standard_input = "-";
constexpr std::string_view ollama_prefix = "ollama:";
constexpr std::uint64_t largest_config = std::uint64_t{16} * 1024 * 1024;

bool has_file_ending(std::string_view name) {
    const std::string small = lower(name);
    return small.ends_with(".gguf") || small.ends_with(".json") || small.ends_with(".safetensors");
}

bool exists(std::string_view name) {
    std::error_code ignored;
    return fs::exists(fs::path(name), ignored);
}

/// A path by its looks. "owner/name" may be one, and a name of the catalog as well.
bool is_path(std::string_view name) { return name.starts_with('.') || name.starts_with('/') || has_file_ending(name); }

bool may_be_path(std::string_view name) { return is_path(name) || name.find_first_of("/\\") != std::string_view::npos; }

/// Whether what is here comes before a name of the catalogs: what looks like a path, and a folder with a model in it, as
/// `git clone` makes one of a repository's name.
bool is_here(std::string_view name) { return exists(name) && (may_be_path(name) || is_hf_model(fs::path(name))); }

/// Files beside `path` that have a name like its.
std::string near_files(const fs::path& path) {
    constexpr std::size_t most_files = 1000;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::vector<std::string> names;
    std::error_code failed;
    for (fs::directory_iterator item(folder, failed);
         !failed && item != fs::directory_iterator() && names.size() < most_files; item.increment(failed)) {
        if (has_file_ending(item->path().filename().string())) names.push_back(item->path().filename().string());
    }
    std::vector<std::string> shown;
    for (const std::string& near :
         near_matches(path.filename().string(), std::vector<std::string_view>(names.begin(), names.end())))
        shown.push_back(quote(near));
    return shown.empty() ? "" : "; did you mean " + enumerated(shown) + "?";
}

std::size_t fill(const ByteStream& stream, std::string& text, std::size_t wanted) {
    while (text.size() < wanted) {
        std::array<std::byte, 4096> buffer;
        const std::size_t n = stream(std::span(buffer).first(std::min(buffer.size(), wanted - text.size())));
        if (n == 0) break;
        text.append(reinterpret_cast<const char*>(buffer.data()), n);
    }
    return text.size();
}

/// The first character that is not blank, as far as `text` goes.
char first_character(std::string_view text) {
    const std::size_t at = text.find_first_not_of(" \t\r\n");
    return at == std::string_view::npos ? '\0' : text[at];
}

SourcedModel from_standard_input(const ByteStream& stream) {
    if (!stream) throw Error("the model - is standard input, which this program does not give");
    std::string head;
    fill(stream, head, 16);
    if (head.empty())
        throw Error("nothing came on standard input; the head of a GGUF file or a config.json would be right");
    if (first_character(head) != '{')
        return model_from_gguf_stream(with_head(std::move(head), stream), "standard input");
    fill(stream, head, largest_config + 1);
    if (head.size() > largest_config) throw Error("the config.json on standard input has more than 16 MiB");
    return model_from_hf_config(head, "standard input", "config.json");
}

SourcedModel from_path(const std::string& path) {
    std::error_code ignored;
    if (is_hf_model(path) || fs::is_directory(path, ignored)) return model_from_hf(path);
    const ByteFile file = open_byte_file(path);
    std::string head;
    fill(file.stream, head, 16);
    if (head.starts_with("GGUF") || lower(path).ends_with(".gguf")) return model_from_gguf(path);
    if (first_character(head) == '{') return model_from_hf(path);
    throw Error(quote(path) + " is neither a GGUF file nor a config.json of Hugging Face");
}

SourcedModel from_ollama(std::string_view name, const Environment& environment) {
    const OllamaModel found = find_ollama_model(name, environment);
    SourcedModel loaded = model_from_gguf(found.file);
    loaded.model.id = found.name;
    loaded.n_ctx = found.n_ctx;
    loaded.projector = found.projector;
    loaded.adapters = found.adapters;
    loaded.file = found.file;
    if (found.draft)
        loaded.notes.emplace_back("the model brings a draft model along, which is not counted: -md FILE counts it");
    return loaded;
}

} // namespace

bool has_own_types(std::string_view name) {
    return name == standard_input || name.starts_with(ollama_prefix) || is_path(name) || is_here(name) ||
           (exists(name) && !in_bundled_catalog(name));
}

void ask_for_quant(SourcedModel& loaded, std::string_view quant) {
    Model& model = loaded.model;
    if (model.file_type.empty()) return;
    const std::string asked(traits(parse_file_type(quant)).name);
    if (asked == model.file_type) return;
    if (model.file_type != "F32" && model.file_type != "F16" && model.file_type != "BF16")
        throw Error(quote(model.id) + " holds " + quote(model.file_type) + " weights, not " + asked +
                    "; leave the file type out, or name a file or catalog model to make one of");
    loaded.notes.push_back("the file holds " + model.file_type + ": the figures are of a " + asked +
                           " file that llama-quantize would make of it");
    model.file_type.clear();
}

SourcedModel load_model(std::string_view name, const ModelSources& sources) {
    if (name == standard_input) return from_standard_input(sources.standard_input);
    if (name.starts_with(ollama_prefix)) return from_ollama(name.substr(ollama_prefix.size()), sources.environment);
    if (is_here(name)) return from_path(std::string(name));
    const bool here = exists(name);
    if ((here || is_path(name)) && !in_catalogs(name, sources)) {
        if (here) return from_path(std::string(name));
        throw Error("no file " + quote(name) + near_files(fs::path(name)));
    }
    SourcedModel loaded;
    loaded.model = catalog_model(name, sources);
    return loaded;
}

} // namespace vramfit
