#include "vramfit/memory/compute.hpp"

#include <algorithm>
#include <numeric>

namespace vramfit {
namespace {

/// Does every flash-attention node run where its layer lies? `auto` turns it off otherwise (llama-context.cpp).
bool flash_attention_stays(const Schedule& s, const Placement& placement) {
    const auto host = static_cast<std::int32_t>(placement.n_devices);
    return std::ranges::all_of(s.graph.nodes, [&](std::int32_t id) {
        const GraphTensor& t = s.graph.tensors[static_cast<std::size_t>(id)];
        if (t.op != Op::flash_attn_ext || t.layer < 0)
            return true;
        const std::int32_t device = placement.layer_device[static_cast<std::size_t>(t.layer)];
        return s.backends[static_cast<std::size_t>(id)] == (device == host_device ? host : device);
    });
}

/// The graph of one token a sequence.
ContextPlan token_context(ContextPlan context) {
    context.n_tokens = context.n_outputs = context.n_seqs;
    return context;
}

} // namespace

ComputeTrace ComputePlanner::trace(const Settings& settings, const ContextPlan& context, const Placement& placement,
                                   const std::vector<Cache>& caches, const std::vector<TensorType>& types,
                                   bool flash_attn) {
    set_context(eval_, settings, context);
    const bool v_trans = settings.flash_attn == FlashAttention::off;
    const GraphRequest request{&settings, &caches, &placement, &types, flash_attn, v_trans};
    std::vector<std::int32_t> layers(eval_.model().n_layer());
    std::iota(layers.begin(), layers.end(), 0);
    const bool pipeline = placement.n_devices > 1 && placement.all_offloaded && settings.offload_kqv && !placement.overridden;
    // Measured with real loads where several devices hold everything; all else with llama.cpp's plan that allocates
    // nothing, which loses the pins. Where one device holds everything they make no difference.
    const bool pins = placement.n_devices > 1 && placement.all_offloaded;
    const ScheduleRequest schedule_request{placement.n_devices, settings.op_offload, pipeline, pins, &placement,
                                           !settings.offload_kqv && !flash_attn};
    ComputeTrace trace;
    trace.schedule = schedule(builder_.build(request, layers), schedule_request);
    trace.replay = replay(trace.schedule, placement.n_devices);
    return trace;
}

bool ComputePlanner::resolve_flash_attention(const Settings& settings, const ContextPlan& context,
                                             const Placement& placement, const std::vector<Cache>& caches,
                                             const std::vector<TensorType>& types) {
    if (settings.flash_attn != FlashAttention::automatic)
        return settings.flash_attn == FlashAttention::on;
    if (traits(settings.type_v).quantized) // a quantized V cache cannot do without
        return true;
    // llama.cpp tries it on the graph of one token a sequence.
    return flash_attention_stays(trace(settings, token_context(context), placement, caches, types, true).schedule, placement);
}

ComputePlan ComputePlanner::plan(const Settings& settings, const ContextPlan& context, const Placement& placement,
                                 const std::vector<Cache>& caches, const std::vector<TensorType>& types) {
    ComputePlan plan;
    plan.flash_attn = resolve_flash_attention(settings, context, placement, caches, types);
    ComputeTrace t = trace(settings, context, placement, caches, types, plan.flash_attn);
    if (placement.n_devices > 1 && placement.all_offloaded) {
        // A real load reserves the graph of one token a sequence, too; a pool keeps the larger need.
        const ComputeTrace token =
            trace(settings, token_context(context), placement, caches, types, plan.flash_attn);
        for (std::size_t i = 0; i < t.replay.buffer_bytes.size(); ++i)
            t.replay.buffer_bytes[i] = std::max(t.replay.buffer_bytes[i], token.replay.buffer_bytes[i]);
    }
    plan.device_bytes = t.replay.buffer_bytes;
    plan.host_bytes = plan.device_bytes.back();
    plan.device_bytes.pop_back();
    plan.n_nodes = t.schedule.graph.n_nodes;
    plan.n_splits = t.schedule.n_splits;
    return plan;
}

} // namespace vramfit
