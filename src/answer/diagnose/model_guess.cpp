#include "model_guess.hpp"

#include "log_text.hpp"

#include "answer/model_name.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/model/catalog.hpp"

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

ModelGuess guess_model(const Load& load) {
    for (const std::string& name : {load.name, std::string(log_text::model_file_name(load.path)), load.path}) {
        if (name.empty() || name.size() > 200) continue;
        const ModelName parts = take_apart(name);
        for (const std::string& spelling : parts.spellings) {
            try {
                const CatalogEntry entry = find_catalog_entry(spelling);
                if (fits(load, entry)) return {entry.id, true};
            } catch (const Error&) { // of no catalog: the next spelling
            }
        }
    }
    return {guess_by_shape(load), false};
}

} // namespace vramfit
