#pragma once

#include "vramfit/memory/graph.hpp"

#include <map>
#include <span>
#include <utility>
#include <vector>

namespace vramfit {

/// A line whose shapes are known: everything that does not change from layer to layer of one kind.
struct ResolvedLine {
    const GraphLine* line = nullptr;
    TensorType type = TensorType::f32;
    std::array<std::uint64_t, 4> ne{1, 1, 1, 1};
    std::uint64_t nbytes = 0;
    std::uint64_t view_bytes = 0;
    std::uint64_t cut = 0;
    std::uint64_t count = 0;
    bool has_ne = false;
    bool output = false;
};

/// The type of a node or input whose template leaves it to the deployment.
TensorType node_type(NodeType kind, TensorType fixed, const GraphRequest& request);

/// Bytes of a contiguous tensor. Throws Error beyond 64 bits.
std::uint64_t shape_bytes(TensorType type, const std::array<std::uint64_t, 4>& ne);

/// Index of the first cache, recurrent or not, that layer `il` keeps; -1: none.
std::int32_t cache_holding(const std::vector<Cache>& caches, std::int32_t il, bool recurrent);

/// Instantiates resolved lines layer by layer: binds names, makes views and leafs.
class GraphEmitter {
public:
    /// `graph`: an empty one to write to.
    GraphEmitter(Evaluator& evaluator, const GraphRequest& request, Graph graph);

    /// `kv_il`: the layer whose attention cache this one reads: its own, unless the architecture shares caches.
    /// Nodes carry `tag` as their layer: -1 outside the layers.
    void enter_layer(std::int32_t il, std::int32_t tag, std::int32_t kv_il, std::int32_t attention,
                     std::int32_t recurrent);

    void emit(const std::vector<ResolvedLine>& lines);

    Graph take();

private:
    std::uint64_t n_leafs() const { return graph_.tensors.size() - graph_.nodes.size(); }

    void emit(const ResolvedLine& r);

    /// Has CUDA a kernel for the node whose sources were just gathered?
    bool cuda_supports(const GraphTensor& t) const;

    /// K is [head, cells, KV heads], V likewise; the result is [head of V, heads, tokens].
    bool has_attention_kernel(const GraphTensor& t) const;

    void emit_store(const ResolvedLine& r);

    // ggml has no such node: llama-graph.cpp sums the experts' rows with k views and k - 1 ADDs.
    void emit_expert_sum(const ResolvedLine& r);

    void gather_sources(const ResolvedLine& r);

    std::int32_t source(const ResolvedLine& r, const SourceRef& ref);

    GraphTensor view_of(std::int32_t id, const std::array<std::uint64_t, 4>& ne, std::uint64_t bytes) const;

    std::int32_t add_node(GraphTensor t, std::span<const std::int32_t> sources);

    std::int32_t add_leaf(const GraphTensor& t);

    std::int32_t input_leaf(std::size_t index);

    std::int32_t weight_leaf(const SourceRef& ref, const GraphLine& line);

    std::int32_t weight_device(const Tensor& weight, std::int32_t index) const;

    std::int32_t cache_leaf(const SourceRef& ref, const GraphLine& line);

    std::int32_t first_recurrent() const;

    const GraphTensor& tensor(std::int32_t id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }

    Evaluator& eval_;
    const Architecture& arch_;
    const Model& model_;
    const GraphRequest& request_;
    Graph graph_;
    std::int32_t il_ = -1, tag_ = -1, kv_il_ = -1, attention_ = -1, recurrent_ = -1;
    std::vector<std::int32_t> results_;
    std::vector<std::int32_t> weights_; // leaf + 1 by tensor; 0: none yet
    std::int32_t output_copy_ = 0;
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> shared_weights_; // by tensor and device
    std::vector<std::int32_t> inputs_, layer_inputs_;
    std::vector<std::vector<std::int32_t>> cache_leafs_;
    std::vector<std::int32_t> scratch_;
};

} // namespace vramfit
