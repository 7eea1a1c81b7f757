#include "model_guess.hpp"

#include "log_text.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/file_type.hpp"

#include <cmath>

namespace vramfit {
namespace {

/// Parameters agree within what a log rounds ("8.03 B").
bool agrees(std::uint64_t a, std::uint64_t b) {
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) <= 0.006 * static_cast<double>(b);
}

bool shape_agrees(const Load& load, const Model& model) {
    const auto same = [&](std::string_view key, double value) {
        const auto logged = load.number(key);
        return !logged || value == 0 || static_cast<double>(logged->value) == value;
    };
    return same("n_layer", model.n_block()) && same("n_embd", model.hparams.get("embedding_length", 0)) &&
           same("n_vocab", model.hparams.get("vocab_size", 0)) &&
           (model.hparams.find("attention.head_count_kv") == nullptr ||
            model.hparams.find("attention.head_count_kv")->size() > 1 ||
            same("n_head_kv", model.hparams.get("attention.head_count_kv", 0)));
}

bool entry_agrees(const Load& load, const CatalogEntry& entry) {
    if (!entry.unsupported.empty()) return false;
    if (!load.arch.empty() && load.arch != entry.architecture) return false;
    const auto parameters = load.number("parameters");
    return !parameters || entry.parameters == 0 || agrees(entry.parameters, parameters->value);
}

bool fits(const Load& load, const CatalogEntry& entry) {
    if (!entry_agrees(load, entry)) return false;
    try {
        return shape_agrees(load, catalog_model(entry.id));
    } catch (const Error&) {
        return false;
    }
}

void cut_end(std::string& name, std::string_view end) {
    if (lower(name).ends_with(end)) name.resize(name.size() - end.size());
}

/// Length of the file type that a name ends with, behind a divider: "mxfp4" of "gpt-oss-120b-mxfp4"; 0: there is none.
std::size_t type_length(std::string_view name) {
    for (std::size_t at = name.find_first_of("-._"); at != std::string_view::npos;
         at = name.find_first_of("-._", at + 1)) {
        try {
            parse_file_type(name.substr(at + 1));
            return name.size() - at - 1;
        } catch (const Error&) { // the next divider may stand before one
        }
    }
    return 0;
}

/// The name and what is left of it without what publishers add.
std::vector<std::string> spellings(std::string name) {
    std::vector<std::string> result;
    if (const auto slash = name.find_last_of("/\\"); slash != std::string::npos) {
        result.push_back(name);
        name = name.substr(slash + 1);
    }
    cut_end(name, ".gguf");
    if (const auto part = name.find("-00001-of-"); part != std::string::npos) name.resize(part);
    if (const std::size_t type = type_length(name); type > 0) name.resize(name.size() - type - 1);
    cut_end(name, "-gguf");
    result.push_back(name);
    for (const std::string_view front : {"Meta-", "Meta ", "Mistral ", "Google "}) {
        if (name.starts_with(front)) result.push_back(name.substr(front.size()));
    }
    const std::size_t n = result.size();
    for (std::size_t i = 0; i < n; ++i) {
        std::string bare = result[i];
        for (const std::string_view end : {"-instruct", " instruct", "-it", " it", "-chat", " chat", "_instruct"})
            cut_end(bare, end);
        if (bare != result[i]) result.push_back(bare);
    }
    return result;
}

/// The only model of the catalog that has the logged shape.
std::string guess_by_shape(const Load& load) {
    if (load.arch.empty() || !load.number("n_layer") || !load.number("parameters")) return "";
    std::string found;
    for (const CatalogEntry& entry : catalog_entries()) {
        const auto trained = load.number("n_ctx_train");
        if (entry.parameters == 0 || (trained && trained->value != entry.context_length) || !fits(load, entry))
            continue;
        if (found.empty()) found = entry.id; // others of the same shape take the same memory
    }
    return found;
}

} // namespace

std::string file_type_of_name(std::string_view file) {
    const std::size_t length = type_length(file);
    return length == 0 ? "" : std::string(traits(parse_file_type(file.substr(file.size() - length))).name);
}

std::string guess_model(const Load& load) {
    for (const std::string& name : {load.name, std::string(log_text::file_name(load.path)), load.path}) {
        if (name.empty() || name.size() > 200) continue;
        for (const std::string& spelling : spellings(name)) {
            try {
                const CatalogEntry entry = find_catalog_entry(spelling);
                if (fits(load, entry)) return entry.id;
            } catch (const Error&) { // of no catalog: the next spelling
            }
        }
    }
    return guess_by_shape(load);
}

} // namespace vramfit
