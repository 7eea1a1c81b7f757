#include "vramfit/memory/compute.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// Does every flash-attention node run where its layer lies? `auto` turns it off otherwise (llama-context.cpp).
bool flash_attention_stays(const Schedule& s, const Placement& placement) {
    const auto host = static_cast<std::int32_t>(placement.n_devices);
    return std::ranges::all_of(s.graph.nodes, [&](std::int32_t id) {
        const GraphTensor& t = s.graph.tensors[static_cast<std::size_t>(id)];
        if (t.op != Op::flash_attn_ext || t.layer < 0) return true;
        const std::int32_t device = placement.layer_device[static_cast<std::size_t>(t.layer)];
        return s.backends[static_cast<std::size_t>(id)] == (device == host_device ? host : device);
    });
}

/// The graph of one token a sequence.
ContextPlan token_context(ContextPlan context) {
    context.n_tokens = context.n_outputs = context.n_seqs;
    return context;
}

constexpr std::uint32_t tight_turns = 2, careful_turns = 3;

} // namespace

ComputePlanner::ComputePlanner(Evaluator& evaluator)
    : eval_(evaluator),
      builder_(evaluator),
      all_(all_layers(evaluator.model().n_layer())),
      // The states of some models return only after two layers, or later.
      folds_{fold_layers(builder_.layer_kinds(), tight_turns, 1),
             fold_layers(builder_.layer_kinds(), careful_turns, 2)} {}

Schedule ComputePlanner::scheduled(const Request& r, const ContextPlan& context, bool flash_attn,
                                   std::span<const std::int32_t> layers) {
    set_context(eval_, r.settings, context);
    const bool v_trans = r.settings.flash_attn == FlashAttention::off;
    const GraphRequest request{&r.settings, &r.caches, &r.placement, &r.types, flash_attn, v_trans};
    const bool whole = r.placement.n_devices > 1 && r.placement.all_offloaded;
    const bool pipeline = r.placement.may_pipeline() && r.settings.offload_kqv;
    // Measured with real loads where several devices hold everything; all else with llama.cpp's plan that allocates
    // nothing, which loses the pins. Where one device holds everything they make no difference.
    const ScheduleRequest schedule_request{
        r.placement.n_devices,          r.settings.op_offload, pipeline,
        whole && !r.placement.no_alloc, &r.placement,          !r.settings.offload_kqv && !flash_attn};
    Graph graph = builder_.build(request, layers, std::move(spare_.graph));
    return schedule(std::move(graph), schedule_request, std::move(spare_));
}

ComputeTrace ComputePlanner::trace(const Settings& settings, const ContextPlan& context, const Placement& placement,
                                   const std::vector<Cache>& caches, const std::vector<TensorType>& types,
                                   bool flash_attn) {
    const Request request{settings, placement, caches, types};
    ComputeTrace trace;
    trace.schedule = scheduled(request, context, flash_attn, all_.layers);
    trace.replay = replay(trace.schedule, placement.n_devices);
    return trace;
}

bool ComputePlanner::on_one_device(const Settings& settings, const Placement& placement) {
    return placement.n_devices == 1 && placement.all_offloaded && settings.offload_kqv && !placement.overridden;
}

/// Does `auto` turn flash attention on? Where everything lies on one device, `whole` (the graph with it) tells; else
/// llama.cpp tries the graph of one token a sequence.
bool ComputePlanner::flash_attention_holds(const Request& r, const ContextPlan& context, const Schedule* whole) {
    if (traits(r.settings.type_v).quantized) // a quantized V cache cannot do without
        return true;
    if (whole != nullptr) return flash_attention_stays(*whole, r.placement);
    Schedule token = scheduled(r, token_context(context), true, all_.layers);
    const bool stays = flash_attention_stays(token, r.placement);
    spare_ = std::move(token);
    return stays;
}

/// The plan of the folded graph, or nothing where folding cannot show what the whole needs.
std::optional<ComputePlan> ComputePlanner::plan_folded(const Schedule& s, const Fold& fold) {
    constexpr std::uint32_t n_plain_splits = 2; // the embeddings on the host, everything else on the device
    if (s.n_splits != n_plain_splits || s.graph.layer_inputs) return std::nullopt;
    std::vector<std::uint32_t> boundaries;
    for (const Fold::Cut& cut : fold.cuts) boundaries.insert(boundaries.end(), {cut.from, cut.at});
    Replay& replayed = replay_;
    replayed = replay(s, 1, boundaries, std::move(replayed));
    for (const Fold::Cut& cut : fold.cuts) {
        if (cut.at >= replayed.boundaries.size() || replayed.boundaries[cut.at] != replayed.boundaries[cut.from])
            return std::nullopt;
    }
    ComputePlan plan = plan_of(s, replayed);
    add_removed(s.graph, fold, plan);
    return plan;
}

/// Counts the nodes and leafs of the layers that a fold left out.
void ComputePlanner::add_removed(const Graph& graph, const Fold& fold, ComputePlan& plan) const {
    const auto kind_of = [&](std::int32_t il) { return builder_.layer_kinds()[static_cast<std::size_t>(il)]; };
    const auto& before = graph.counts_before;
    const auto counts_at = [&](std::size_t i) {
        return Graph::Counts{before[i + 1].n_nodes - before[i].n_nodes, before[i + 1].n_leafs - before[i].n_leafs};
    };
    std::vector<bool> behind_cut(fold.layers.size());
    for (const Fold::Cut& cut : fold.cuts) behind_cut[cut.at] = true;
    std::vector<std::optional<Graph::Counts>> of_kind(builder_.n_kinds());
    for (std::size_t i = 0; i < fold.layers.size(); ++i) {
        auto& counts = of_kind[kind_of(fold.layers[i])];
        if (!behind_cut[i] || !counts) counts = counts_at(i);
    }
    for (const Fold::Cut& cut : fold.cuts) {
        // The state of a recurrent layer is a leaf of the layer before it. Behind a cut that one is missing, and the
        // layer before the cut has the state of one that was left out.
        const auto& usual = of_kind[kind_of(fold.layers[cut.at])];
        if (usual) plan.n_leafs -= counts_at(cut.at).n_leafs - usual->n_leafs;
    }
    for (const std::int32_t il : fold.removed) {
        const auto& counts = of_kind[kind_of(il)];
        plan.n_nodes += counts->n_nodes;
        plan.n_leafs += counts->n_leafs;
    }
}

ComputePlan ComputePlanner::plan_on_one_device(const Request& r, const ContextPlan& context) {
    bool flash_attn = r.settings.flash_attn != FlashAttention::off;
    for (std::size_t i = fold_;; ++i) {
        const bool whole = i == folds_.size();
        const Fold& fold = whole ? all_ : folds_[i];
        Schedule s = scheduled(r, context, flash_attn, fold.layers);
        if (flash_attn && r.settings.flash_attn == FlashAttention::automatic &&
            !flash_attention_holds(r, context, &s)) {
            flash_attn = false;
            spare_ = std::move(s);
            s = scheduled(r, context, flash_attn, fold.layers);
        }
        auto plan = whole ? plan_of(s, replay_ = replay(s, 1, {}, std::move(replay_))) : plan_folded(s, fold);
        spare_ = std::move(s);
        if (!plan) continue;
        if (!whole) fold_ = i; // a fold that was too tight for the model is not tried again
        plan->flash_attn = flash_attn;
        return *plan;
    }
}

ComputePlan ComputePlanner::plan_of(const Schedule& s, const Replay& replayed) {
    ComputePlan plan;
    plan.device_bytes = replayed.buffer_bytes;
    plan.host_bytes = plan.device_bytes.back();
    plan.device_bytes.pop_back();
    plan.n_nodes = s.graph.n_nodes;
    plan.n_leafs = s.graph.n_leafs;
    plan.n_splits = s.n_splits;
    return plan;
}

ComputePlan ComputePlanner::plan_whole(const Request& r, const ContextPlan& context) {
    bool flash_attn = r.settings.flash_attn != FlashAttention::off;
    if (r.settings.flash_attn == FlashAttention::automatic) flash_attn = flash_attention_holds(r, context, nullptr);
    Schedule s = scheduled(r, context, flash_attn, all_.layers);
    Replay replayed = replay(s, r.placement.n_devices, {}, std::move(replay_));
    if (r.placement.n_devices > 1 && r.placement.all_offloaded && !r.placement.no_alloc) {
        // A real load reserves the graph of one token a sequence, too; a pool keeps the larger need.
        const Replay token =
            replay(scheduled(r, token_context(context), flash_attn, all_.layers), r.placement.n_devices);
        for (std::size_t i = 0; i < replayed.buffer_bytes.size(); ++i)
            replayed.buffer_bytes[i] = std::max(replayed.buffer_bytes[i], token.buffer_bytes[i]);
    }
    ComputePlan plan = plan_of(s, replayed);
    plan.flash_attn = flash_attn;
    spare_ = std::move(s);
    replay_ = std::move(replayed);
    return plan;
}

ComputePlan ComputePlanner::plan(const Settings& settings, const ContextPlan& context, const Placement& placement,
                                 const std::vector<Cache>& caches, const std::vector<TensorType>& types) {
    const Request request{settings, placement, caches, types};
    return on_one_device(settings, placement) ? plan_on_one_device(request, context) : plan_whole(request, context);
}

} // namespace vramfit
