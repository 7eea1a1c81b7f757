#include "vramfit/answer/answer.hpp"

#include "advice.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "judge.hpp"
#include "max_ctx.hpp"
#include "notes.hpp"

#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::uint64_t least_context(const Judge& judge) {
    const std::uint64_t trained = judge.model().n_ctx_train();
    return trained == 0 ? judge.runtime().least_ctx : std::min(judge.runtime().least_ctx, trained);
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

EffectiveSettings settings_of(const Judge& judge, const Trial& trial) {
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
    return s;
}

void add_estimate(Answer& answer, const Judge& judge, Trial& trial) {
    answer.compute_basis =
        judge.all_cuda() ? trial.estimate.compute_basis : std::max(trial.estimate.compute_basis, Basis::modelled);
    answer.compute_error = trial.estimate.compute_error;
    for (const DeviceAnswer& device : trial.devices) {
        answer.overhead += device.overhead;
        answer.compute_error = std::max(answer.compute_error, device.compute_error);
    }
    answer.host = trial.estimate.host;
    answer.devices = std::move(trial.devices);
    answer.estimate = std::move(trial.estimate);
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

Model model_of(const Request& request) { return catalog_model(request.model); }

Answer answer(const Request& request) {
    Estimator estimator(model_of(request));
    return answer(request, estimator);
}

Answer answer(const Request& asked, Estimator& estimator) {
    Judge judge(asked, estimator);
    Request request = asked;
    Answer result;
    if (!asked.n_ctx) {
        result.max_ctx = max_context(judge, request);
        request.n_ctx = result.max_ctx.fit > 0 ? result.max_ctx.fit : result.max_ctx.tight;
        if (*request.n_ctx == 0) request.n_ctx = least_context(judge);
    }
    Trial trial = judge.attempt(request);
    if (asked.n_ctx)
        result.max_ctx = max_context(judge, request, &trial);
    else if (trial.verdict == Verdict::refused)
        result.max_ctx.limited_by = ContextLimit::setting;

    result.verdict = trial.verdict;
    result.model = summary_of(judge.model(), trial.estimate);
    result.settings = settings_of(judge, trial);
    result.margin = judge.margin();
    result.kv_bytes_per_token = estimator.kv_bytes_per_token(trial.deployment);
    result.command = command_line(judge, request, model_file(judge.model(), request));
    result.failure = failure_of(judge, trial);
    result.notes = notes_of(judge, request, trial, !asked.n_ctx);
    result.suggestions = advice(judge, request, trial, result.max_ctx);
    if (asked.strict && trial.verdict == Verdict::tight && !result.suggestions.empty())
        result.command = result.suggestions.front().command;
    if (trial.verdict == Verdict::oom && result.suggestions.empty())
        result.notes.push_back(note_without_advice(judge, trial));
    add_estimate(result, judge, trial);
    return result;
}

} // namespace vramfit
