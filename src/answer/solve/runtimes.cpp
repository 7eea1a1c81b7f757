#include "sweep.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace vramfit {
namespace {

/// Adds a phrase to a list that commas divide.
void add(std::string& list, const std::string& phrase) { list += (list.empty() ? "" : ", ") + phrase; }

/// Do caches hold fewer cells than the context has?
bool has_windows(const Answer& answer) {
    return std::ranges::any_of(answer.estimate.caches, [&](const Cache& cache) {
        return !cache.recurrent && !cache.layers.empty() && cache.cells < answer.estimate.context.n_ctx_seq;
    });
}

/// Does the runtime load weights of that quantization?
bool reads(const RuntimeProfile& runtime, const std::optional<std::string>& quant) {
    if (!runtime.serving || !quant) return true;
    const WeightFormat* const format = weight_format_named(*quant);
    return format != nullptr && std::ranges::count(runtime.serving->formats, format->id) > 0;
}

/// What of the runtime's own rules makes its figures differ from those of the first row.
std::string why(const Request& request, const RuntimeProfile& runtime, const Answer& answer, const Answer& first) {
    std::string list;
    const EffectiveSettings& s = answer.settings;
    if (!reads(runtime, request.quant)) add(list, s.quant);
    if (runtime.reserve == RuntimeProfile::Reserve::share) add(list, "share of the card");
    if (runtime.reserve == RuntimeProfile::Reserve::growing) add(list, "grows with text");
    if (!request.n_ctx && !runtime.fits_ctx) add(list, "own ctx");
    if (runtime.ctx_per_slot && s.parallel > 1) add(list, std::to_string(s.parallel) + " caches");
    if (s.swa_full && !first.settings.swa_full && has_windows(first)) add(list, "no windows");
    if (runtime.ctx_extra > 0) add(list, "+" + std::to_string(runtime.ctx_extra) + " cells");
    if (s.n_ubatch != first.settings.n_ubatch) add(list, "batch " + std::to_string(s.n_ubatch));
    if (list.empty() && s.n_outputs > first.settings.n_outputs) add(list, "logits of a batch");
    return list;
}

std::vector<Cell> figures_of(const Answer& answer) {
    std::uint64_t required = 0, kv_cache = answer.host.kv_cache;
    for (const DeviceAnswer& device : answer.devices) {
        required += device.required;
        kv_cache += device.memory.kv_cache;
    }
    std::vector<Cell> cells;
    add_cells(cells, answer.settings.runtime, answer.settings.n_ctx, answer.settings.parallel, kv_cache);
    if (answer.verdict == Verdict::refused)
        add_cells(cells, std::monostate());
    else
        add_cells(cells, required);
    const MaxContext& max = answer.max_ctx;
    add_cells(cells, answer.verdict, number_or_nothing(max.fit > 0 ? max.fit : max.tight));
    return cells;
}

} // namespace

Table runtimes_compared(const SourcedRequest& asked, Estimator& estimator) {
    Table table;
    table.kind = "runtime";
    SourcedRequest tried{asked.request, {}, asked.n_ctx, {}};
    tried.request.runtime = runtimes().front().id;
    table.subject = subject_of(tried.request, Judge(tried.request, estimator));
    table.subject->runtime = "all";
    table.columns = {{"runtime", "runtime"},
                     {"n_ctx", "ctx", Unit::count},
                     {"parallel", "slots", Unit::count, true},
                     {"kv_cache", "KV cache", Unit::bytes, true},
                     {"required", "required", Unit::bytes},
                     {"verdict", "", Unit::verdict},
                     {"max_ctx", "largest", Unit::count},
                     {"why", "differs by"}};
    std::optional<Answer> first;
    for (const RuntimeProfile& runtime : runtimes()) {
        tried.request.runtime = runtime.id;
        // An engine that reads checkpoints has the model as it is published, where it does not know the quantization.
        tried.request.quant = reads(runtime, asked.request.quant) ? asked.request.quant : std::nullopt;
        TableRow& row = table.rows.emplace_back();
        try {
            Answer found = answer(tried, estimator);
            row.cells = figures_of(found);
            add_cells(row.cells, text_or_nothing(why(asked.request, runtime, found, first ? *first : found)));
            if (!first) first = std::move(found);
        } catch (const Error& error) { // a setting that this runtime has not
            row.cells.resize(table.columns.size());
            row.cells.front() = runtime.id;
            row.remark = error.what();
        }
    }
    table.legend = "own ctx: without --ctx it takes that context by itself";
    return table;
}

} // namespace vramfit
