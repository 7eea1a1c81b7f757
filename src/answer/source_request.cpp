#include "source_request.hpp"

#include "vramfit/memory/runtime.hpp"

#include <utility>

namespace vramfit {

SourcedRequest with_source(const Request& request, const ModelSources& sources) {
    SourcedModel loaded = model_of(request, sources);
    // An engine that reads checkpoints loads the published model, not the file that tells its shape.
    const bool converts = request.quant && !loaded.model.file_type.empty() && find_runtime(request.runtime).serving;
    if (request.quant && !converts) ask_for_quant(loaded, *request.quant);
    SourcedRequest sourced{request, std::move(loaded.model), loaded.n_ctx, std::move(loaded.notes)};
    Request& r = sourced.request;
    if (!r.projector) r.projector = loaded.projector;
    if (r.adapters.empty()) r.adapters = loaded.adapters;
    if (loaded.file) r.model = *loaded.file;
    return sourced;
}

Answer answer(const SourcedRequest& asked, Estimator& estimator) {
    Request request = asked.request;
    if (!request.n_ctx) request.n_ctx = asked.n_ctx;
    Answer result = answer(request, estimator);
    result.notes.insert(result.notes.end(), asked.notes.begin(), asked.notes.end());
    if (!asked.request.n_ctx && asked.n_ctx)
        result.notes.push_back("the context of " + std::to_string(*asked.n_ctx) +
                               " is what the model's own settings ask for");
    return result;
}

} // namespace vramfit
