#include "vramfit/memory/graph.hpp"

#include "graph_emitter.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace vramfit {

namespace {

constexpr std::size_t max_lines = 200000; // repetitions within repetitions multiply: far above every architecture

} // namespace

GraphBuilder::GraphBuilder(Evaluator& evaluator) : eval_(evaluator), arch_(evaluator.architecture()) {
    classify_layers();
}

void GraphBuilder::classify_layers() {
    Evaluator::LayerTerms terms;
    for (const GraphLine& line : arch_.graph.layer) {
        for (const std::uint32_t condition : line.conditions)
            eval_.collect_layer_terms(arch_.conditions[condition], terms);
        for (const Expression& e : line.ne) eval_.collect_layer_terms(e, terms);
        for (const Expression* e : {&line.bytes, &line.cut, &line.output, &line.count, &line.times})
            eval_.collect_layer_terms(*e, terms);
        for (const SourceRef& ref : line.sources) {
            if (ref.kind == SourceRef::Kind::weight && ref.optional && !ref.global)
                terms.tensors.push_back(static_cast<std::uint32_t>(ref.index));
        }
    }
    constexpr std::int32_t most_ahead = 4; // uses of `next` were counted, not how deep they nest
    terms.ahead = std::min(terms.ahead, most_ahead);
    const auto n_layer = static_cast<std::int32_t>(eval_.model().n_layer());
    std::vector<std::vector<double>> signatures;
    signatures.reserve(static_cast<std::size_t>(n_layer));
    for (std::int32_t il = 0; il < n_layer; ++il) signatures.push_back(signature(terms, il));
    std::map<std::vector<double>, std::uint32_t> seen;
    for (std::int32_t il = 0; il < n_layer; ++il) {
        std::vector<double> key = signatures[static_cast<std::size_t>(il)];
        for (std::int32_t next = il + 1; next <= il + terms.ahead; ++next) {
            key.push_back(next < n_layer ? 1 : 0);
            if (next < n_layer)
                key.insert(key.end(), signatures[static_cast<std::size_t>(next)].begin(),
                           signatures[static_cast<std::size_t>(next)].end());
        }
        kinds_.push_back(seen.try_emplace(std::move(key), static_cast<std::uint32_t>(seen.size())).first->second);
    }
    n_kinds_ = static_cast<std::uint32_t>(seen.size());
}

std::vector<double> GraphBuilder::signature(const Evaluator::LayerTerms& terms, std::int32_t il) {
    eval_.enter_layer(il);
    std::vector<double> signature;
    for (const std::uint32_t slot : terms.names) signature.push_back(eval_.value(slot));
    for (const std::uint32_t slot : terms.tensors) signature.push_back(eval_.tensor(slot, il) >= 0 ? 1 : 0);
    for (const CacheTemplate& cache : arch_.caches) signature.push_back(eval_.holds(cache.layers) ? 1 : 0);
    signature.push_back(eval_.value_or("kv_layer", il) == il ? 1 : 0);
    return signature;
}

GraphBuilder::LayerCaches GraphBuilder::enter(const GraphRequest& request, std::int32_t il) {
    eval_.enter_layer(il);
    LayerCaches caches;
    caches.kv_il = static_cast<std::int32_t>(eval_.value_or("kv_layer", il));
    caches.attention = cache_holding(*request.caches, caches.kv_il, false);
    caches.recurrent = cache_holding(*request.caches, il, true);
    const std::int32_t index = caches.attention;
    const Cache none;
    const Cache& cache = index < 0 ? none : (*request.caches)[static_cast<std::size_t>(index)];
    const auto set = [&](Builtin name, std::uint64_t value) { eval_.set(name, static_cast<double>(value)); };
    set(Builtin::n_kv, cache.cells);
    set(Builtin::rot_k, cache.n_rot_k != 0 ? 1 : 0);
    set(Builtin::rot_v, cache.n_rot_v != 0 ? 1 : 0);
    set(Builtin::n_rot_k, cache.n_rot_k);
    set(Builtin::n_rot_v, cache.n_rot_v);
    const CacheLayer* layer = cache.layer(caches.kv_il);
    set(Builtin::v_pad, layer != nullptr && layer->v_padded() ? 1 : 0);
    set(Builtin::n_v_max, cache.n_v_max);
    return caches;
}

ResolvedLine GraphBuilder::resolve_line(const GraphRequest& request, const GraphLine& line) {
    ResolvedLine r;
    r.line = &line;
    r.type = node_type(line.node_type, line.type, request);
    r.has_ne = !line.ne.empty();
    for (std::size_t i = 0; i < line.ne.size(); ++i) r.ne[i] = eval_.count(line.ne[i], "a dimension");
    r.nbytes = r.has_ne ? shape_bytes(r.type, r.ne) : 0;
    const auto count = [&](const Expression& e) { return e.empty() ? 0 : eval_.count(e, "an attribute"); };
    r.view_bytes = count(line.bytes);
    r.cut = count(line.cut);
    r.count = count(line.count);
    r.output = !line.output.empty() && eval_.eval(line.output) != 0;
    return r;
}

std::vector<ResolvedLine> GraphBuilder::resolve(const GraphRequest& request, const std::vector<GraphLine>& lines) {
    std::vector<ResolvedLine> resolved;
    resolved.reserve(lines.size());
    resolve(request, lines, resolved);
    return resolved;
}

void GraphBuilder::resolve(const GraphRequest& request, std::span<const GraphLine> lines,
                           std::vector<ResolvedLine>& resolved) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const GraphLine& line = lines[i];
        try {
            const bool holds = std::ranges::all_of(
                line.conditions, [&](std::uint32_t c) { return eval_.eval(arch_.conditions[c]) != 0; });
            if (line.kind == GraphLine::Kind::repeat) {
                if (holds) repeat(request, line, lines.subspan(i + 1, line.n_lines), resolved);
                i += line.n_lines;
            } else if (holds) {
                if (resolved.size() >= max_lines)
                    throw Error("more than " + std::to_string(max_lines) + " nodes a layer");
                resolved.push_back(resolve_line(request, line));
            }
        } catch (const Error& e) {
            throw Error(line.where.text() + ": " + e.what());
        }
    }
}

void GraphBuilder::repeat(const GraphRequest& request, const GraphLine& line, std::span<const GraphLine> lines,
                          std::vector<ResolvedLine>& resolved) {
    constexpr std::uint64_t max_times = 1024; // bounds what a mistaken template can ask for
    const double outer = eval_.get(Builtin::round);
    const std::uint64_t times = eval_.count(line.times, "a number of repetitions");
    if (times > max_times) throw Error(std::to_string(times) + " repetitions are too many");
    for (std::uint64_t round = 0; round < times; ++round) {
        eval_.set(Builtin::round, static_cast<double>(round));
        resolve(request, lines, resolved);
    }
    eval_.set(Builtin::round, outer);
}

void Graph::clear() {
    tensors.clear();
    sources.clear();
    nodes.clear();
    inputs.clear();
    expert_sums.clear();
    counts_before.clear();
    n_nodes = n_leafs = 0;
    layer_inputs = false;
}

Graph GraphBuilder::build(const GraphRequest& request, std::span<const std::int32_t> layers, Graph storage) {
    storage.clear();
    eval_.set(Builtin::flash_attn, request.flash_attn ? 1 : 0);
    eval_.set(Builtin::v_trans, request.v_trans ? 1 : 0);
    eval_.set(Builtin::round, 0);
    GraphEmitter emitter(eval_, request, std::move(storage));
    enter(request, 0);
    emitter.enter_layer(-1, -1, -1, -1, -1);
    emitter.emit(resolve(request, arch_.graph.pre));
    std::vector<std::optional<std::vector<ResolvedLine>>> by_kind(n_kinds_);
    for (const std::int32_t il : layers) {
        const LayerCaches caches = enter(request, il);
        emitter.enter_layer(il, il, caches.kv_il, caches.attention, caches.recurrent);
        auto& lines = by_kind[kinds_[static_cast<std::size_t>(il)]];
        if (!lines) lines = resolve(request, arch_.graph.layer);
        emitter.emit(*lines);
    }
    const auto last = static_cast<std::int32_t>(eval_.model().n_layer()) - 1;
    const LayerCaches caches = enter(request, last);
    emitter.enter_layer(last, -1, caches.kv_il, caches.attention, caches.recurrent);
    emitter.emit(resolve(request, arch_.graph.head));
    return emitter.take();
}

} // namespace vramfit
