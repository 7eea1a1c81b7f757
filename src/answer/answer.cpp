#include "vramfit/answer/answer.hpp"

#include "advice.hpp"
#include "auto_request.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "judge.hpp"
#include "max_ctx.hpp"
#include "notes.hpp"
#include "serving_deployment.hpp"
#include "serving_failure.hpp"
#include "source_request.hpp"

#include "vramfit/model/architecture.hpp"
#include "vramfit/model/quant_mix.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::uint64_t least_context(const Judge& judge) {
    const std::uint64_t trained = judge.model().n_ctx_train();
    return trained == 0 ? judge.runtime().least_ctx : std::min(judge.runtime().least_ctx, trained);
}

/// The question with the context that the runtime takes by itself.
Request with_default_context(Request request, const Judge& judge) {
    request.n_ctx = judge.runtime().default_context(judge.gpu_memory(), judge.model().n_ctx_train());
    request.default_n_ctx = request.n_ctx;
    return request;
}

/// "max" is what the model was trained for: a number, which every runtime can be told. 0 where that is not known.
Request with_trained_context(Request request, const Judge& judge) {
    if (request.n_ctx == std::uint64_t{0}) request.n_ctx = judge.model().n_ctx_train();
    return request;
}

/// The largest context that fits. An engine that takes a share of the card fills it to the last block
/// (vllm/v1/core/kv_cache_utils.py, --max-model-len auto).
std::uint64_t chosen_context(const Judge& judge, const MaxContext& largest) {
    const bool fills = judge.runtime().reserve == RuntimeProfile::Reserve::share;
    const std::uint64_t n_ctx = fills || largest.fit == 0 ? largest.tight : largest.fit;
    return n_ctx == 0 ? least_context(judge) : n_ctx;
}

ModelSummary summary_of(const Model& model, const MemoryEstimate& estimate) {
    ModelSummary summary;
    summary.id = model.id;
    summary.source = model.source;
    summary.architecture = model.architecture->name;
    summary.parameters = model.n_parameters();
    summary.tensor_bytes = estimate.tensor_bytes;
    summary.block_count = model.n_block();
    summary.context_length = model.n_ctx_train();
    return summary;
}

EffectiveSettings settings_of(const Judge& judge, const Request& request, const Trial& trial) {
    const Settings& asked = trial.deployment.settings;
    const ContextPlan& context = trial.estimate.context;
    const std::uint64_t n_block = judge.model().n_block();
    EffectiveSettings s;
    s.runtime = judge.runtime().id;
    s.quant = judge.model().file_type.empty() ? std::string(traits(trial.deployment.file_type).name)
                                              : judge.model().file_type;
    s.n_ctx = context.n_ctx;
    s.n_ctx_per_seq = context.n_ctx_seq;
    s.parallel = context.n_seqs;
    s.kv_unified = asked.kv_unified;
    s.n_batch = context.n_batch;
    s.n_ubatch = context.n_ubatch;
    s.type_k = asked.type_k;
    s.type_v = asked.type_v;
    s.flash_attn = trial.estimate.flash_attn;
    s.n_outputs = context.n_outputs;
    const std::int64_t n_gpu_layers = trial.deployment.placement.n_gpu_layers;
    s.gpu_layers =
        n_gpu_layers < 0 ? n_block + 1 : std::min<std::uint64_t>(static_cast<std::uint64_t>(n_gpu_layers), n_block + 1);
    s.n_cpu_moe = std::min<std::uint64_t>(trial.deployment.placement.n_cpu_moe, n_block);
    s.swa_full = asked.swa_full;
    if (judge.runtime().serving) {
        s.quant = trial.deployment.weight_format;
        s.cache_dtype = cache_dtype_of(judge.runtime(), request).name;
    }
    return s;
}

void add_estimate(Answer& answer, const Judge& judge, Trial& trial) {
    answer.compute_basis = judge.compute_measured() ? trial.estimate.compute_basis
                                                    : std::max(trial.estimate.compute_basis, Basis::modelled);
    answer.compute_error = trial.estimate.compute_error;
    for (const DeviceAnswer& device : trial.devices) {
        answer.overhead += device.overhead;
        answer.compute_error = std::max(answer.compute_error, device.compute_error);
    }
    answer.host = trial.estimate.host;
    answer.ram = trial.ram;
    answer.serving = trial.serving;
    answer.growth = trial.growth;
    answer.projector = std::move(trial.companions.projector);
    answer.draft = std::move(trial.companions.draft);
    answer.adapters = std::move(trial.companions.adapters);
    answer.devices = std::move(trial.devices);
    answer.estimate = std::move(trial.estimate);
}

std::vector<std::uint64_t> kv_heads_of(const Model& model) {
    std::vector<std::uint64_t> heads;
    for (std::size_t il = 0; il < model.n_block(); ++il) {
        const double count = model.hparams.get("attention.head_count_kv", 0, il);
        heads.push_back(count >= 1 && count <= 1e9 ? static_cast<std::uint64_t>(count) : 0);
    }
    return heads;
}

std::vector<WeightGroup> weights_of(const Model& model, const Deployment& deployment) {
    if (model.file_type.empty())
        return weight_groups(
            model, quant_mix(model, model.architecture->name, deployment.file_type, deployment.imatrix).types);
    std::vector<TensorType> types;
    for (const Tensor& tensor : model.tensors) types.push_back(tensor.type);
    return weight_groups(model, types);
}

} // namespace

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::fit: return "fit";
    case Verdict::tight: return "tight";
    case Verdict::oom: return "oom";
    case Verdict::refused: break;
    }
    return "refused";
}

SourcedModel model_of(const Request& request, ModelSources sources) {
    sources.catalogs.insert(sources.catalogs.begin(), request.catalogs.begin(), request.catalogs.end());
    return load_model(request.model, sources);
}

Answer answer(const Request& request, const ModelSources& sources) {
    SourcedRequest sourced = with_source(request, sources);
    Estimator estimator(std::move(sourced.model));
    return answer(sourced, estimator);
}

Answer answer(const Request& asked, Estimator& estimator) {
    Judge judge(asked, estimator);
    const bool default_ctx = !asked.n_ctx && !judge.runtime().fits_ctx && !asked.fits_ctx;
    Request request = default_ctx ? with_default_context(asked, judge) : with_trained_context(asked, judge);
    Answer result;
    result.notes = asked.notes;
    if (asked.n_gpu_layers == gpu_layers_auto && !judge.runtime().serving) {
        AutoRequest fitted = resolve_auto(judge, request);
        request = std::move(fitted.request);
        result.notes.insert(result.notes.end(), fitted.notes.begin(), fitted.notes.end());
    }
    const bool chosen = !request.n_ctx;
    if (chosen) {
        result.max_ctx = max_context(judge, request);
        request.n_ctx = chosen_context(judge, result.max_ctx);
    }
    Trial trial = judge.attempt(request);
    if (!chosen)
        result.max_ctx = max_context(judge, request, &trial);
    else if (trial.verdict == Verdict::refused)
        result.max_ctx.limited_by = ContextLimit::setting;

    result.verdict = trial.verdict;
    result.model = summary_of(judge.model(), trial.estimate);
    result.settings = settings_of(judge, request, trial);
    result.margin = judge.margin();
    result.kv_bytes_per_token = judge.kv_bytes_per_token(trial.deployment);
    const Command command = command_of(judge, request, model_file(judge.runtime(), judge.model(), request));
    result.command = command.text;
    result.failure = judge.runtime().serving ? serving_failure(judge, request, trial, result.max_ctx)
                                             : failure_of(judge, request, trial);
    const ContextSource source =
        chosen ? ContextSource::largest : (default_ctx ? ContextSource::by_default : ContextSource::said);
    const std::vector<std::string> notes = notes_of(judge, request, trial, source);
    result.notes.insert(result.notes.end(), notes.begin(), notes.end());
    note_command(result.notes, judge, command);
    result.suggestions = advice(judge, request, trial, result.max_ctx);
    if (asked.strict && trial.verdict == Verdict::tight && !result.suggestions.empty())
        result.command = result.suggestions.front().command;
    if (trial.verdict == Verdict::oom && result.suggestions.empty())
        result.notes.push_back(note_without_advice(judge, trial));
    if (!judge.runtime().serving) result.weights = weights_of(judge.model(), trial.deployment);
    result.kv_heads = kv_heads_of(judge.model());
    add_estimate(result, judge, trial);
    return result;
}

} // namespace vramfit
