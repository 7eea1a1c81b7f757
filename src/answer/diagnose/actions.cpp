#include "actions.hpp"

#include "advice.hpp"
#include "plain_actions.hpp"
#include "tokens_beside.hpp"
#include "wording.hpp"

#include "answer/deployment/command_reader.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::size_t most_actions = 2;

DiagnosisAction action_of(const Suggestion& suggestion, const Diagnosis& diagnosis) {
    DiagnosisAction action{suggestion.kind, suggestion.summary, suggestion.flags, suggestion.verdict};
    const bool plain = diagnosis.runtime == LogRuntime::llama_cpp || diagnosis.runtime == LogRuntime::unknown;
    if (!plain || program_of(diagnosis) != nullptr) action.flags = flags_of(diagnosis, suggestion);
    return action;
}

/// What would be done about another model or card is not an option of the running program.
bool is_change_of_plan(const Suggestion& suggestion) {
    return suggestion.kind == "quant" || suggestion.kind == "model" || suggestion.kind == "gpu";
}

/// The setting that made the compute buffer what it is, before changes that only make room for it.
void add_for_compute(Diagnosis& diagnosis, const Request& request, Estimator& estimator) {
    const std::uint64_t usual = usual_ubatch();
    Request changed = request;
    DiagnosisAction action;
    if (request.flash_attn == FlashAttention::off) {
        changed.flash_attn = FlashAttention::on;
        action = {"flash_attn",
                  "flash attention: no buffer that grows with batch times context",
                  flags_of(diagnosis, "flash_attn", "on"),
                  {}};
    } else if (request.n_ubatch.value_or(usual) > usual) {
        changed.n_ubatch = usual;
        action = {"ubatch",
                  "physical batches of " + std::to_string(usual) + ": the compute buffer shrinks with them",
                  flags_of(diagnosis, "ubatch", std::to_string(usual)),
                  {}};
    }
    if (action.flags.empty()) return;
    const Verdict verdict = answer(changed, estimator).verdict;
    if (verdict != Verdict::fit && verdict != Verdict::tight) return;
    action.verdict = verdict;
    std::erase_if(diagnosis.actions, [&](const DiagnosisAction& other) { return other.flags == action.flags; });
    diagnosis.actions.insert(diagnosis.actions.begin(), std::move(action));
}

/// Asks the estimator about the whole deployment. Nothing where its answer is that everything fits: then something
/// that it does not know of holds the memory.
bool add_confirmed(Diagnosis& diagnosis, const Request& request, Estimator& estimator) {
    const Answer answered = answer(request, estimator);
    if (!request.n_ctx && answered.verdict != Verdict::oom && answered.verdict != Verdict::refused) {
        // The log does not show the context that failed: the largest that fits has been looked for.
        diagnosis.actions.push_back({"ctx", "the largest context that fits",
                                     context_flags(diagnosis, answered.settings.n_ctx), answered.verdict});
        if (diagnosis.figure("requested") == nullptr) // else its size may speak of a longer one
            diagnosis.notes.emplace_back(
                "the log does not show the context that failed: where it was no longer than that, "
                "something else holds memory there (nvidia-smi, rocm-smi)");
    }
    for (const Suggestion& suggestion : answered.suggestions) {
        DiagnosisAction action = action_of(suggestion, diagnosis);
        if (action.flags.empty() && !is_change_of_plan(suggestion)) continue;
        diagnosis.actions.push_back(std::move(action));
    }
    if (request.n_ctx && (answered.verdict == Verdict::fit || answered.verdict == Verdict::tight))
        diagnosis.notes.emplace_back("by the estimator all of it fits where the log says that it failed: look for what "
                                     "else holds memory there (nvidia-smi, rocm-smi)");
    if (diagnosis.cause == FailureCause::compute_too_large) add_for_compute(diagnosis, request, estimator);
    return !diagnosis.actions.empty();
}

/// The context first where the cache alone asks for more than there is: no other change makes up for that.
void context_first(Diagnosis& diagnosis) {
    std::ranges::stable_sort(diagnosis.actions, [](const DiagnosisAction& a, const DiagnosisAction& b) {
        return (a.kind == "ctx") > (b.kind == "ctx");
    });
}

/// What was free when the cache or the compute buffer was asked for: the weights lie there already.
bool add_beside(Diagnosis& diagnosis, const Budget& budget, const Request& request, Estimator& estimator) {
    const bool in_context = diagnosis.stage == FailureStage::kv_cache || diagnosis.stage == FailureStage::compute;
    if (!in_context || !budget.free_is_left || !budget.left) return false;
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    for (const BesidePlan& plan : plans_beside(request, estimator, *budget.left)) {
        if (plan.kind == "ctx" && n_ctx != nullptr && plan.n_ctx >= n_ctx->value) continue; // it is in effect
        DiagnosisAction action;
        action.kind = plan.kind;
        action.summary = plan.summary;
        if (plan.type) action.flags = flags_of(diagnosis, "cache_type", traits(*plan.type).name);
        const auto context = context_flags(diagnosis, plan.n_ctx);
        action.flags.insert(action.flags.end(), context.begin(), context.end());
        action.verdict = plan.verdict;
        diagnosis.actions.push_back(std::move(action));
    }
    if (diagnosis.actions.empty()) return false;
    diagnosis.actions.push_back(
        {"model", "a smaller quantization, or a smaller model, leaves more for the cache", {}, {}});
    return true;
}

/// An action as a change of the question, where it is one that the estimator understands: its flags are read as those of
/// any command are.
bool apply(Request& request, const DiagnosisAction& action, const CommandTable& table) {
    if (action.flags.empty() || !action.flags.front().starts_with('-')) return false; // a variable, or words
    RuntimeCommand command;
    command.table = &table;
    command.program = &table.programs.front();
    command.arguments = action.flags;
    std::vector<SettingText> said;
    for (ReadSetting& setting : read_arguments(command, "", Mistakes::pass_over).settings)
        said.push_back(std::move(setting.said));
    apply_settings(request, said);
    const std::uint64_t n_gpus = request.tensor_parallel.value_or(1);
    if (n_gpus > 1 && request.gpus.size() == 1) request.gpus.assign(n_gpus, std::string(request.gpus.front()));
    return !said.empty();
}

/// What the estimator says of the actions for an engine that reads checkpoints. It has its say where it knows of the
/// failure, too.
void confirm_for_engine(Diagnosis& diagnosis, const Request& request, Estimator& estimator) {
    const auto table = command_table_of(request.runtime);
    const Answer failed = answer(request, estimator);
    if (failed.verdict != Verdict::oom || !table) return;
    for (DiagnosisAction& action : diagnosis.actions) {
        Request changed = request;
        if (!apply(changed, action, *table)) continue;
        const Verdict verdict = answer(changed, estimator).verdict;
        if (verdict == Verdict::fit || verdict == Verdict::tight) action.verdict = verdict;
    }
}

void ask_for_missing(Diagnosis& diagnosis, const Request& request, const Subject& subject) {
    if (!engine_of(diagnosis).empty()) {
        const bool can_be = std::ranges::any_of(diagnosis.actions, [](const DiagnosisAction& action) {
            return action.kind == "ctx" || action.kind == "utilization" || action.kind == "split";
        });
        if (!can_be) return;
        if (!subject.known()) diagnosis.missing.emplace_back("--model");
        if (request.gpus.empty()) diagnosis.missing.emplace_back("--gpu");
        return;
    }
    if (!runs_llama_cpp(diagnosis)) return;
    if (!subject.known() || !subject.weights_known) diagnosis.missing.emplace_back("--model");
    if (!request.quant) diagnosis.missing.emplace_back("--quant");
    if (request.gpus.empty()) diagnosis.missing.emplace_back("--gpu");
    if (!request.n_ctx && diagnosis.cause != FailureCause::weights_too_large) diagnosis.missing.emplace_back("--ctx");
}

bool wants_estimator(const Diagnosis& diagnosis) {
    if (diagnosis.training) return false;
    switch (diagnosis.cause) {
    case FailureCause::kv_too_large:
    case FailureCause::weights_too_large:
    case FailureCause::compute_too_large:
    case FailureCause::generation_growth: return runs_llama_cpp(diagnosis) || !engine_of(diagnosis).empty();
    default: return false;
    }
}

/// Where the estimator has fewer ideas: what helps in any case, without its verdict.
void add_others(Diagnosis& diagnosis, const Load& load) {
    Diagnosis plain = diagnosis;
    plain.actions.clear();
    add_plain_actions(plain, load);
    for (DiagnosisAction& action : plain.actions) {
        if (std::ranges::find(diagnosis.actions, action.kind, &DiagnosisAction::kind) == diagnosis.actions.end())
            diagnosis.actions.push_back(std::move(action));
    }
}

/// Ollama's cache holds the context of every slot: one request at a time keeps the context as long as it is.
void one_request(Diagnosis& diagnosis, const Budget& budget) {
    const LogFigure* slots = diagnosis.figure("n_parallel");
    const LogFigure* asked = diagnosis.figure("requested");
    if (diagnosis.runtime != LogRuntime::ollama || diagnosis.cause != FailureCause::kv_too_large) return;
    if (slots == nullptr || slots->value < 2 || diagnosis.actions.empty()) return;
    const auto said = std::ranges::find(diagnosis.actions, "parallel", &DiagnosisAction::kind);
    if (said != diagnosis.actions.end() && said - diagnosis.actions.begin() < std::ptrdiff_t{most_actions}) return;
    std::erase_if(diagnosis.actions, [](const DiagnosisAction& action) { return action.kind == "parallel"; });
    const bool enough = asked != nullptr && budget.left && asked->value / slots->value <= *budget.left;
    DiagnosisAction action{"parallel",
                           "one request at a time: each of the " + std::to_string(slots->value) +
                               " has a context of its own",
                           flags_of(diagnosis, "parallel", "1"),
                           {}};
    diagnosis.actions.insert(diagnosis.actions.begin() + (enough ? 0 : 1), std::move(action));
}

/// A question that the estimator cannot answer leaves the advice without its verdict.
template <typename Ask>
void ask(Diagnosis& diagnosis, const Subject& subject, Ask question) {
    try {
        question();
    } catch (const Error& error) {
        if (subject.named) diagnosis.notes.push_back("not confirmed by the estimator: " + std::string(error.what()));
    }
}

} // namespace

void add_actions(Diagnosis& diagnosis, const Load& load, const Request& request, const Subject& subject) {
    if (!diagnosis.oom && diagnosis.cause != FailureCause::setting) return add_plain_actions(diagnosis, load);
    const Budget budget = budget_of(load, diagnosis);
    bool confirmed = false;
    const bool engine = !engine_of(diagnosis).empty();
    if (wants_estimator(diagnosis) && subject.known() && subject.agrees && !engine) {
        Estimator& estimator = *subject.estimator;
        const bool has_types = request.quant || !estimator.model().file_type.empty();
        ask(diagnosis, subject, [&] {
            confirmed = subject.weights_known && add_beside(diagnosis, budget, request, estimator);
            if (!confirmed && subject.weights_known && has_types && !request.gpus.empty())
                confirmed = add_confirmed(diagnosis, request, estimator);
        });
    }
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    if (confirmed && diagnosis.cause == FailureCause::kv_too_large && asked != nullptr && free != nullptr &&
        asked->value > free->value)
        context_first(diagnosis);
    if (diagnosis.actions.size() < most_actions) add_others(diagnosis, load);
    if (engine && wants_estimator(diagnosis) && subject.known() && !request.gpus.empty())
        ask(diagnosis, subject, [&] { confirm_for_engine(diagnosis, request, *subject.estimator); });
    one_request(diagnosis, budget);
    if (!confirmed && subject.agrees && wants_estimator(diagnosis)) ask_for_missing(diagnosis, request, subject);
    if (diagnosis.actions.size() > most_actions) diagnosis.actions.resize(most_actions);
}

} // namespace vramfit
