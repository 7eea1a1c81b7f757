#include "subject.hpp"

#include "log_text.hpp"
#include "model/metadata_model.hpp"
#include "model_guess.hpp"

#include "answer/judge.hpp"
#include "answer/model_name.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/weight_format.hpp"

namespace vramfit {
namespace {

Subject named_subject(const Request& hints) {
    SourcedModel loaded = model_of(hints);
    if (hints.quant) ask_for_quant(loaded, *hints.quant);
    Subject subject;
    subject.named = true;
    subject.id = loaded.model.source == "catalog" ? loaded.model.id : hints.model;
    subject.request.n_ctx = loaded.n_ctx;
    subject.request.projector = std::move(loaded.projector);
    subject.request.adapters = std::move(loaded.adapters);
    subject.estimator = std::make_unique<Estimator>(std::move(loaded.model));
    return subject;
}

ModelMetadata metadata_of(const Load& load) {
    ModelMetadata metadata;
    metadata.name = load.name.empty() ? std::string(log_text::model_file_name(load.path)) : load.name;
    metadata.architecture = load.arch;
    metadata.hparams = load.hparams;
    if (const auto n = load.number("n_tensors")) metadata.n_tensors = n->value;
    if (const auto n = load.number("parameters")) metadata.n_parameters = n->value;
    return metadata;
}

} // namespace

void check_hints(const Request& hints) {
    if (hints.quant && weight_format_named(*hints.quant) == nullptr) parse_file_type(*hints.quant);
    if (!hints.gpus.empty()) requested_devices(hints);
}

void identify_quant(Diagnosis& diagnosis, const Load& load, const Request& hints) {
    if (hints.quant) diagnosis.quant = *hints.quant, diagnosis.quant_line = 0;
    if (!diagnosis.quant.empty()) return;
    std::string_view file = log_text::model_file_name(load.path);
    if (file.ends_with(".gguf")) file.remove_suffix(5);
    if (const std::size_t part = file.find("-00001-of-"); part != std::string_view::npos) file = file.substr(0, part);
    diagnosis.quant = file_type_of_name(file);
    diagnosis.quant_line = diagnosis.quant.empty() ? 0 : load.path_seen.line;
}

Subject subject_of(const Load& load, const Request& hints) {
    if (!hints.model.empty()) return named_subject(hints);
    Subject subject;
    const ModelGuess guess = guess_model(load);
    (guess.by_name ? subject.id : subject.shape_of) = guess.id;
    try {
        if (!guess.id.empty()) {
            subject.estimator = std::make_unique<Estimator>(catalog_model(guess.id));
        } else if (!load.hparams.entries().empty()) {
            MetadataModel made = model_from_metadata(metadata_of(load));
            subject.weights_known = made.weights_known;
            subject.estimator = std::make_unique<Estimator>(std::move(made.model));
        }
    } catch (const Error&) { // the log shows too little of it
        subject.estimator.reset();
    }
    return subject;
}

} // namespace vramfit
