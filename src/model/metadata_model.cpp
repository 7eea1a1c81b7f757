#include "metadata_model.hpp"

#include "catalog_entry.hpp"
#include "stand_in.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/model/check_counts.hpp"

#include <cmath>
#include <set>

namespace vramfit {
namespace {

/// The sets of optional tensors that published models of the architecture have.
std::set<std::vector<std::string>> optional_sets(const std::string& architecture) {
    std::set<std::vector<std::string>> sets{{}};
    for (const CatalogEntry& entry : catalog_entries()) {
        if (entry.architecture == architecture) sets.insert(optional_tensors(bundled_entry(entry.id)));
    }
    return sets;
}

bool agrees(const Model& model, const ModelMetadata& metadata) {
    if (metadata.n_tensors && *metadata.n_tensors != model.tensors.size()) return false;
    if (!metadata.n_parameters) return metadata.n_tensors.has_value();
    const auto said = static_cast<double>(*metadata.n_parameters);
    constexpr double rounding = 0.006; // of the least number with three digits, 1.00
    return std::abs(static_cast<double>(model.n_parameters()) - said) <= rounding * said;
}

/// How far the number of parameters is from what was said.
double distance(const Model& model, const ModelMetadata& metadata) {
    if (!metadata.n_parameters) return 0;
    return std::abs(static_cast<double>(model.n_parameters()) - static_cast<double>(*metadata.n_parameters));
}

/// Gives `model` the tensors that come nearest to what the metadata say. Whether they agree with it.
bool fill_tensors(Model& model, const ModelMetadata& metadata) {
    std::optional<Model> best;
    bool agreed = false;
    for (const auto& optional : optional_sets(model.architecture->name)) {
        Model candidate = model;
        try {
            instantiate_tensors(candidate, optional);
        } catch (const Error&) { // a hyperparameter is missing that the tensors need, not the cache
            continue;
        }
        const bool agreeing = agrees(candidate, metadata);
        const bool nearer = !best || agreeing > agreed || distance(candidate, metadata) < distance(*best, metadata);
        if (agreeing < agreed || !nearer) continue;
        best = std::move(candidate);
        agreed = agreeing;
    }
    if (best) model = std::move(*best);
    return agreed;
}

} // namespace

MetadataModel model_from_metadata(const ModelMetadata& metadata) {
    const std::string where = "the metadata of " + (metadata.name.empty() ? "the model" : metadata.name);
    MetadataModel made;
    Model& model = made.model;
    model.id = metadata.name.empty() ? "model" : metadata.name;
    model.source = "metadata";
    model.hparams = metadata.hparams;
    if (model.hparams.find("block_count") == nullptr) throw Error(where + " do not say how many layers there are");
    check_counts(model.hparams, where + ": ");
    if (is_described(metadata.architecture)) {
        model.architecture = bundled_architecture(metadata.architecture);
        made.weights_known = fill_tensors(model, metadata);
    } else {
        model.architecture =
            stand_in(metadata.architecture.empty() ? "unknown" : metadata.architecture, model.hparams, where);
    }
    return made;
}

} // namespace vramfit
