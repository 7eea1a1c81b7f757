#include "arithmetic.hpp"

#include "engine_figures.hpp"
#include "figure_text.hpp"
#include "tokens_beside.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/catalog.hpp"

#include <algorithm>

namespace vramfit {
namespace {

void add_budget(Diagnosis& diagnosis, const Load& load) {
    const Budget budget = budget_of(load, diagnosis);
    auto& lines = diagnosis.arithmetic;
    const LogFigure* asked = diagnosis.figure("requested");
    if (asked != nullptr && asked->line > 0) // else it is worked out below
        lines.push_back(load.number("guardrail")
                            ? "expected by LM Studio: " + decimal_gb(asked->value) + line_text(*asked)
                            : "asked for: " + format_mib(asked->value) + line_text(*asked));
    if (const LogFigure* required = asked == nullptr || asked->line == 0 ? diagnosis.figure("required") : nullptr)
        lines.push_back("needed in all, by the runtime: " + format_mib(required->value) + line_text(*required));
    if (const LogFigure* limit = diagnosis.figure("limit"))
        lines.push_back("most that one buffer may have: " + format_mib(limit->value) + line_text(*limit));
    if (const LogFigure* free = diagnosis.figure("free")) {
        std::string text = (budget.free_is_left ? "free then: " : "free at the start: ") + format_mib(free->value);
        if (const LogFigure* total = diagnosis.figure("total")) text += " of " + format_mib(total->value);
        lines.push_back(text + line_text(*free));
    } else if (const LogFigure* total = diagnosis.figure("total")) {
        lines.push_back("total: " + format_mib(total->value) + line_text(*total));
    }
    if (const LogFigure* after = diagnosis.figure("free_after_weights"))
        lines.push_back("left by the weights: " + format_mib(after->value) + line_text(*after));
    if (const LogFigure* slack = diagnosis.figure("slack"); slack != nullptr && slack->value > 0)
        lines.push_back("reserved by PyTorch and not used: " + format_mib(slack->value) + line_text(*slack));
    if (!budget.free_is_left && budget.used > 0 && budget.left)
        lines.push_back("lay there already: " + format_mib(budget.used) + ", left: " + format_mib(*budget.left));
    if (const LogFigure* own = diagnosis.figure("own"); own != nullptr && budget.host)
        lines.push_back("held by the program when the system ended it: " + format_mib(own->value) + line_text(*own));
    if (const LogFigure* missing = diagnosis.figure("kv_missing"))
        lines.push_back("missing before the cache has anything: " + format_mib(missing->value) + line_text(*missing));
    if (const LogFigure* others = diagnosis.figure("others"); others != nullptr && others->value >= gib)
        lines.push_back("held by other processes: " + format_mib(others->value) + line_text(*others));
}

/// The tokens that vLLM's cache holds, and what those of the whole context would take.
void add_engine_arithmetic(Diagnosis& diagnosis) {
    const EngineCache cache = engine_cache_of(diagnosis);
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    const LogFigure* held = diagnosis.figure("max_ctx");
    if (!cache.needed || !cache.there || n_ctx == nullptr || held == nullptr || *cache.needed <= *cache.there) return;
    diagnosis.arithmetic.push_back("the cache's " + format_bytes(*cache.there) + " hold " + tokens_text(held->value) +
                                   line_text(*held) + "; " + tokens_text(n_ctx->value) + " take " +
                                   format_bytes(*cache.needed));
}

/// What a context of that many tokens takes, where the model is known; else an example, so that a number of tokens gets
/// a size.
void add_cache_arithmetic(Diagnosis& diagnosis, const Request& request, const Subject& subject) {
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    const LogFigure* asked = diagnosis.figure("requested");
    if (diagnosis.stage != FailureStage::kv_cache || (asked != nullptr && asked->line > 0)) return;
    if (diagnosis.runtime == LogRuntime::vllm || diagnosis.runtime == LogRuntime::sglang)
        return add_engine_arithmetic(diagnosis);
    const bool known = subject.known();
    CacheNeed need;
    try {
        if (known) {
            need = cache_need(request, *subject.estimator);
        } else {
            Estimator example(catalog_model("llama3.1-8b"));
            need = cache_need(request, example);
        }
    } catch (const Error&) {
        return;
    }
    if (need.per_token == 0) return;
    const LogFigure* free = diagnosis.figure("free");
    std::string text = known ? "" : "for comparison, an 8B model of Llama 3.1's shape: ";
    text += format_bytes(need.per_token) + " a token";
    if (n_ctx != nullptr)
        text += ", " + tokens_text(n_ctx->value) + " = " + format_bytes(need.bytes);
    else
        text += ", " + format_bytes(need.bytes) + " for the " + tokens_text(need.n_ctx) + " that it was trained for";
    diagnosis.arithmetic.push_back(text);
    if (n_ctx == nullptr) return;
    if (free != nullptr)
        diagnosis.arithmetic.push_back("the " + format_bytes(free->value) + " that " +
                                       (diagnosis.oom ? "were" : "are") + " free" + (known ? " hold" : " would hold") +
                                       " the cache of at most " + tokens_text(free->value / need.per_token) +
                                       ", were nothing else put there: weights and compute buffer need room, too");
}

} // namespace

void add_arithmetic(Diagnosis& diagnosis, const Load& load, const Request& request, const Subject& subject) {
    if (!diagnosis.oom) return;
    add_budget(diagnosis, load);
    add_cache_arithmetic(diagnosis, request, subject);
}

} // namespace vramfit
