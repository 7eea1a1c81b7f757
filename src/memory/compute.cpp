#include "vramfit/memory/compute.hpp"

#include <algorithm>
#include <numeric>

namespace vramfit {
namespace {

/// Does every flash-attention node of a layer on a device run there? `auto` turns it off otherwise (llama-context.cpp).
bool flash_attention_stays(const Schedule& s, const Placement& placement) {
    return std::ranges::all_of(s.graph.nodes, [&](std::int32_t id) {
        const GraphTensor& t = s.graph.tensors[static_cast<std::size_t>(id)];
        if (t.op != Op::flash_attn_ext || t.layer < 0)
            return true;
        const std::int32_t device = placement.layer_device[static_cast<std::size_t>(t.layer)];
        return device == host_device || s.backends[static_cast<std::size_t>(id)] == device;
    });
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
    const bool pipeline = placement.n_devices > 1 && placement.all_offloaded && settings.offload_kqv;
    const ScheduleRequest schedule_request{placement.n_devices, settings.op_offload, pipeline, placement.all_offloaded,
                                           &placement};
    ComputeTrace trace;
    trace.schedule = schedule(builder_.build(request, layers), schedule_request);
    trace.replay = replay(trace.schedule, placement.n_devices);
    return trace;
}

ComputePlan ComputePlanner::plan(const Settings& settings, const ContextPlan& context, const Placement& placement,
                                 const std::vector<Cache>& caches, const std::vector<TensorType>& types) {
    const bool wanted = settings.flash_attn != FlashAttention::off;
    ComputePlan plan;
    plan.flash_attn = wanted;
    ComputeTrace t = trace(settings, context, placement, caches, types, wanted);
    const bool v_quantized = traits(settings.type_v).quantized; // a quantized V needs it (llama-context.cpp)
    if (settings.flash_attn == FlashAttention::automatic && !v_quantized &&
        !flash_attention_stays(t.schedule, placement)) {
        plan.flash_attn = false;
        t = trace(settings, context, placement, caches, types, false);
    }
    plan.device_bytes = t.replay.buffer_bytes;
    plan.host_bytes = plan.device_bytes.back();
    plan.device_bytes.pop_back();
    plan.n_nodes = t.schedule.graph.n_nodes;
    plan.n_splits = t.schedule.n_splits;
    return plan;
}

} // namespace vramfit
