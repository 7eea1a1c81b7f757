#include "vramfit/answer/solve.hpp"

#include "answer/source_request.hpp"
#include "sweep.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/weight_format.hpp"

#include <utility>

namespace vramfit {
namespace {

bool is_filtered(const ModelFilter& filter) {
    return !filter.family.empty() || !filter.license.empty() || filter.min_parameters > 0 || filter.moe ||
           filter.order != ModelOrder::parameters;
}

/// Throws Error for what means one deployment alone, where many are tried.
void check_table(const Request& request) {
    if (request.n_gpu_layers == gpu_layers_auto && request.gpus.empty())
        throw Error("--gpu-layers auto places a deployment on a GPU: give one, such as --gpu 24GB, or --gpu auto for "
                    "this machine's");
    if (request.n_gpu_layers == gpu_layers_auto)
        throw Error("--gpu-layers auto places one deployment: give it model, quantization and GPU, and no table");
    if (request.table && request.n_ctx) throw Error("a table has its own contexts: leave --ctx or --table out");
}

/// An engine that takes a share of the card fills it, whatever is asked: tables of what fits would say nothing.
void check_engine(const Request& request) {
    if (request.runtime == all_runtimes || !find_runtime(request.runtime).serving) return;
    throw Error(find_runtime(request.runtime).name +
                " is answered for one deployment: give model and GPU, and no table; what is left open is looked for "
                "with llama.cpp and its like");
}

/// A question about one model, with something left open. `has_quant`: the quantization is not.
Table table_of(const Request& request, Estimator& estimator, bool has_quant) {
    check_table(request);
    if (request.table == TableAxis::cache) {
        if (!has_quant) throw Error("a table of cache types needs a quantization; give a file type such as q4_k_m");
        return caches_by_context(request, estimator);
    }
    if (!request.n_ctx) return quants_by_context(request, estimator);
    if (has_quant) return gpus_that_hold(request, estimator);
    return request.gpus.empty() ? quants_by_need(request, estimator) : quants_that_fit(request, estimator);
}

/// One deployment by each runtime's rules; without a quantization, with the usual one.
Table all_runtimes_of(SourcedRequest sourced, Estimator& estimator, bool has_quant) {
    Request& request = sourced.request;
    if (request.gpus.empty() || request.table)
        throw Error("--runtime all compares one deployment: give model and GPU, and no table");
    if (has_quant) return runtimes_compared(sourced, estimator);
    request.quant = traits(usual_file_type(estimator.model())).name;
    Table table = runtimes_compared(sourced, estimator);
    table.notes.push_back("no quantization was given: " + *request.quant +
                          ", as a download without a type; engines that read checkpoints take the published weights");
    return table;
}

} // namespace

Solution solve(const Request& request, const ModelSources& sources) {
    if (request.model.empty()) {
        check_table(request);
        check_engine(request);
        if (request.table) throw Error("a table of contexts is of one model: name it");
        return models_that_fit(request, sources);
    }
    if (is_filtered(request.models))
        throw Error(
            "--family, --license, --min-params, --moe and --sort choose between models: leave them or the model out");
    SourcedRequest sourced = with_source(request, sources);
    Estimator estimator(std::move(sourced.model));
    const bool all = request.runtime == all_runtimes;
    // An engine that reads checkpoints loads a model as it is published.
    const bool has_quant =
        request.quant || !estimator.model().file_type.empty() || (!all && find_runtime(request.runtime).serving);
    if (!all && has_quant && !request.gpus.empty() && !request.table) return answer(sourced, estimator);
    if (!all) check_engine(request);
    Table table =
        all ? all_runtimes_of(sourced, estimator, has_quant) : table_of(sourced.request, estimator, has_quant);
    table.notes.insert(table.notes.end(), sourced.notes.begin(), sourced.notes.end());
    return table;
}

} // namespace vramfit
