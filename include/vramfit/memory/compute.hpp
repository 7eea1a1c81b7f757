#pragma once

#include "vramfit/memory/allocator.hpp"
#include "vramfit/memory/fold.hpp"
#include "vramfit/memory/graph.hpp"
#include "vramfit/memory/kv_cache.hpp"
#include "vramfit/memory/placement.hpp"
#include "vramfit/memory/settings.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vramfit {

/// What llama.cpp reserves for running a model: the compute buffers, worked out by replay.
struct ComputePlan {
    bool flash_attn = false; ///< in effect
    std::vector<std::uint64_t> device_bytes;
    std::uint64_t host_bytes = 0;
    std::uint64_t n_nodes = 0; ///< of the prompt graph, as llama.cpp counts them
    std::uint64_t n_leafs = 0; ///< weights, caches and inputs that it reads
    std::uint32_t n_splits = 0;
};

/// Everything of a prompt graph, for comparisons node by node.
struct ComputeTrace {
    Schedule schedule;
    Replay replay;
};

/// Plans the compute buffers of a model's contexts.
class ComputePlanner {
public:
    /// `evaluator` must outlive the planner.
    explicit ComputePlanner(Evaluator& evaluator);
    ComputePlanner(const ComputePlanner&) = delete;
    ComputePlanner& operator=(const ComputePlanner&) = delete;

    /// The compute buffers of the prompt graph (llama-context.cpp, `graph_reserve`). `types`: the weights' types by
    /// Model::tensors; they matter only where weights are copied between devices, and may be empty otherwise.
    ComputePlan plan(const Settings& settings, const ContextPlan& context, const Placement& placement,
                     const std::vector<Cache>& caches, const std::vector<TensorType>& types);

    /// Does one device hold everything? Then no weight is copied, and their types make no difference.
    static bool on_one_device(const Settings& settings, const Placement& placement);

    /// The same with every step, always of the whole graph.
    ComputeTrace trace(const Settings& settings, const ContextPlan& context, const Placement& placement,
                       const std::vector<Cache>& caches, const std::vector<TensorType>& types, bool flash_attn);

private:
    struct Request {
        const Settings& settings;
        const Placement& placement;
        const std::vector<Cache>& caches;
        const std::vector<TensorType>& types;
    };

    static ComputePlan plan_of(const Schedule& schedule, const Replay& replayed);
    Schedule scheduled(const Request& request, const ContextPlan& context, bool flash_attn,
                       std::span<const std::int32_t> layers);
    bool flash_attention_holds(const Request& request, const ContextPlan& context, const Schedule* whole);
    std::optional<ComputePlan> plan_folded(const Schedule& schedule, const Fold& fold);
    void add_removed(const Graph& graph, const Fold& fold, ComputePlan& plan) const;
    ComputePlan plan_on_one_device(const Request& request, const ContextPlan& context);
    ComputePlan plan_whole(const Request& request, const ContextPlan& context);

    Evaluator& eval_;
    GraphBuilder builder_;
    Fold all_;
    std::vector<Fold> folds_; ///< the tightest first
    std::size_t fold_ = 0;    ///< the first that was not found too tight
    Schedule spare_;          ///< of the last plan: its memory serves the next
    Replay replay_;           ///< likewise
};

} // namespace vramfit
