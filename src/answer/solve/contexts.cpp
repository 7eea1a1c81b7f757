#include "sweep.hpp"

#include "answer/max_ctx.hpp"
#include "vramfit/answer/solve.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace vramfit {
namespace {

constexpr std::uint64_t first_context = 4096;
constexpr std::uint64_t usual_context = 131072; // where nobody knows what the model was trained for
constexpr std::size_t most_contexts = 6;        // that 80 columns hold beside names and the largest context

/// The runtime's cache types that save something, or at least cost nothing: largest first.
std::vector<TensorType> cache_types_of(const RuntimeProfile& runtime) {
    const auto size = [](TensorType type) { return row_size(type, 256); };
    std::vector<TensorType> types = runtime.cache_types;
    std::erase_if(types, [&](TensorType type) { return size(type) > size(TensorType::f16); });
    std::ranges::stable_sort(types, std::ranges::greater{}, size);
    return types;
}

/// A row that is still to be filled: what it is called, and the question without its context.
struct Line {
    std::string name;
    Request request;
};

/// "attention runs on the CPU with q5_1 and q4_1: ...", of the lines whose caches the device has no kernel for.
std::optional<std::string> note_left(const std::vector<Line>& lines, Judge& judge, std::uint64_t n_ctx) {
    std::vector<std::string> names;
    std::optional<Trial> usual;
    for (const Line& line : lines) {
        Request request = line.request;
        request.n_ctx = n_ctx;
        Trial trial = judge.attempt(request);
        if (!usual) {
            request.type_k = request.type_v = TensorType::f16;
            usual = judge.attempt(request);
        }
        if (attention_left(trial, *usual)) names.push_back(line.name);
    }
    if (names.empty()) return std::nullopt;
    return "with " + enumerated(names, "and") +
           " attention runs on the CPU: the GPU has no kernel for them, and answers come at a crawl";
}

/// The lines against the contexts, and the largest context of each where there is a GPU.
Table by_context(const Request& request, Estimator& estimator, std::vector<Line> lines, Table table) {
    const bool on_gpu = !request.gpus.empty();
    Judge judge(on_gpu ? request : on_any_device(request), estimator);
    const std::vector<std::uint64_t> contexts = table_contexts(judge.model().n_ctx_train());
    table.subject = subject_of(request, judge);
    table.subject->n_ctx.reset();
    for (const std::uint64_t n_ctx : contexts)
        table.columns.push_back({"ctx_" + std::to_string(n_ctx), std::to_string(n_ctx), Unit::gibibytes});
    table.rows.reserve(lines.size());
    for (Line& line : lines) {
        TableRow& row = table.rows.emplace_back();
        row.cells.emplace_back(line.name);
        for (const std::uint64_t n_ctx : contexts) {
            line.request.n_ctx = n_ctx;
            const Trial trial = judge.attempt(line.request);
            note_refusal(table, trial);
            if (on_gpu)
                row.cells.emplace_back(sized_verdict(trial));
            else
                row.cells.emplace_back(needed_bytes(trial));
        }
    }
    if (!lines.empty()) note_slots(table, request, judge.attempt(lines.front().request));
    if (table.kind == "cache_ctx") {
        if (auto note = note_left(lines, judge, contexts.front())) table.notes.push_back(std::move(*note));
    }
    if (!on_gpu) {
        table.legend = "GiB required on one GPU, what its driver and the process take included";
        return table;
    }
    table.columns.push_back({"max_ctx", "largest", Unit::count});
    // All cells come before the searches, whose contexts are many: what is remembered of the cells serves every line.
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const MaxContext max = max_context(judge, lines[i].request);
        const std::uint64_t largest = max.fit > 0 || request.strict ? max.fit : max.tight;
        table.rows[i].cells.push_back(number_or_nothing(largest));
    }
    table.legend = "GiB required. F: fits. T: fits tightly, with less to spare than the margin of " +
                   format_bytes(judge.margin()) +
                   " or the error of the estimate. O: out of memory. R: refused by the runtime. largest: the largest "
                   "context that fits" +
                   (request.strict ? "" : ", tightly where none does better");
    return table;
}

} // namespace

std::vector<std::uint64_t> table_contexts(std::uint64_t n_ctx_train) {
    const std::uint64_t last = n_ctx_train == 0 ? usual_context : n_ctx_train;
    std::vector<std::uint64_t> contexts{last};
    for (std::uint64_t n_ctx = first_context; n_ctx < last; n_ctx *= 2) contexts.insert(contexts.end() - 1, n_ctx);
    // One too many: the smallest goes. More: every second does, counted from the end.
    while (contexts.size() > most_contexts + 1) {
        std::vector<std::uint64_t> fewer;
        for (std::size_t i = 1 - contexts.size() % 2; i < contexts.size(); i += 2) fewer.push_back(contexts[i]);
        contexts = std::move(fewer);
    }
    if (contexts.size() > most_contexts) contexts.erase(contexts.begin());
    return contexts;
}

Table quants_by_context(const Request& request, Estimator& estimator) {
    Table table;
    table.kind = "quant_ctx";
    table.columns = {{"quant", "quant"}};
    std::vector<Line> lines;
    for (Quant& quant : quants_of(estimator, request)) {
        Line& line = lines.emplace_back(Line{quant.name, request});
        if (estimator.model().file_type.empty()) line.request.quant = std::move(quant.name);
    }
    return by_context(request, estimator, std::move(lines), std::move(table));
}

Table caches_by_context(const Request& request, Estimator& estimator) {
    if (request.type_k || request.type_v) throw Error("a table of cache types tries them all: leave --cache-type out");
    Table table;
    table.kind = "cache_ctx";
    table.columns = {{"cache_type", "cache"}};
    std::vector<Line> lines;
    for (const TensorType type : cache_types_of(find_runtime(request.runtime))) {
        Line& line = lines.emplace_back(Line{std::string(traits(type).name), request});
        line.request.type_k = line.request.type_v = type;
    }
    table = by_context(request, estimator, std::move(lines), std::move(table));
    table.subject->type_k.reset();
    table.subject->type_v.reset();
    return table;
}

} // namespace vramfit
