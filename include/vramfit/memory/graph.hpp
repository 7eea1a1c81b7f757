#pragma once

#include "vramfit/memory/kv_cache.hpp"
#include "vramfit/model/evaluator.hpp"
#include "vramfit/model/ggml_op.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vramfit {

/// A tensor of the prompt graph: a node, or a leaf (weight, cache, graph input).
struct GraphTensor {
    Op op = Op::none;
    TensorType type = TensorType::f32;
    bool input = false;    ///< a graph input: filled by the host before the graph runs
    bool output = false;   ///< never freed or overwritten
    bool external = false; ///< its memory is not the allocator's: weights, caches, views of them
    bool weight = false;   ///< lies in a weight buffer
    bool scratch = false;  ///< a leaf that the graph itself fills
    bool on_host = false;  ///< runs on the CPU whatever its sources
    std::array<std::uint64_t, 4> ne{1, 1, 1, 1};
    std::uint64_t nbytes = 0;
    std::int32_t view_root = -1; ///< the tensor whose memory it shows; -1: its own
    std::int32_t device = -2;    ///< where an external tensor lies; -2: not external
    std::int32_t layer = -1;
    std::uint32_t first_source = 0;
    std::uint32_t n_sources = 0;
    const GraphLine* line = nullptr; ///< what made it, for messages and comparisons
};

/// The sum over a MoE's experts: CUDA's graph optimiser keeps the sources of `mul` alive until `last_add` is done.
struct ExpertSum {
    std::int32_t mul = -1;
    std::int32_t last_add = -1;
    std::uint64_t n_experts = 0;
};

/// A prompt graph in execution order.
struct Graph {
    std::vector<GraphTensor> tensors;
    std::vector<std::int32_t> sources; ///< of all tensors, one after the other
    std::vector<std::int32_t> nodes;   ///< tensors that are executed (views included), in order
    std::vector<std::int32_t> inputs;  ///< leafs that are graph inputs, in order of first use
    std::vector<ExpertSum> expert_sums;
    std::uint64_t n_nodes = 0; ///< as llama.cpp counts them, every view included
    std::uint64_t n_leafs = 0; ///< weights, caches and inputs
    struct Counts {
        std::uint64_t n_nodes, n_leafs;
    };
    std::vector<Counts> counts_before; ///< by layer that was built, and once more for the head
    bool layer_inputs = false;         ///< some layers have inputs of their own

    /// Empty again, with its memory kept.
    void clear();

    std::span<const std::int32_t> sources_of(const GraphTensor& t) const {
        return {sources.data() + t.first_source, t.n_sources};
    }
};

/// What a graph is built for.
struct GraphRequest {
    const Settings* settings = nullptr;
    const std::vector<Cache>* caches = nullptr;
    const Placement* placement = nullptr;
    const std::vector<TensorType>* types = nullptr; ///< of the weights, by Model::tensors
    bool flash_attn = false;
    bool v_trans = false;
};

struct ResolvedLine; // a template's line whose shapes are known

/// Writes out the prompt graph of a model from its architecture's template.
/// Layers of the same kind have the same lines, so a kind's shapes are worked out once.
class GraphBuilder {
public:
    explicit GraphBuilder(Evaluator& evaluator);

    /// The graph of the layers `layers` (all of them in order, or fewer where a repeated stretch is left out).
    /// `storage`: a graph that is no longer needed, whose memory is used again.
    Graph build(const GraphRequest& request, std::span<const std::int32_t> layers, Graph storage = {});

    /// The kind of each layer: layers of one kind have the same lines and shapes, whatever the settings.
    const std::vector<std::uint32_t>& layer_kinds() const { return kinds_; }
    std::uint32_t n_kinds() const { return n_kinds_; }

private:
    void classify_layers();
    std::vector<double> signature(const Evaluator::LayerTerms& terms, std::int32_t il);
    /// Which caches a layer uses: indexes into the request's, -1 for none.
    struct LayerCaches {
        std::int32_t kv_il = 0;
        std::int32_t attention = -1;
        std::int32_t recurrent = -1;
    };
    LayerCaches enter(const GraphRequest& request, std::int32_t il);
    std::vector<ResolvedLine> resolve(const GraphRequest& request, const std::vector<GraphLine>& lines);
    void resolve(const GraphRequest& request, std::span<const GraphLine> lines, std::vector<ResolvedLine>& resolved);
    void repeat(const GraphRequest& request, const GraphLine& line, std::span<const GraphLine> lines,
                std::vector<ResolvedLine>& resolved);
    ResolvedLine resolve_line(const GraphRequest& request, const GraphLine& line);

    Evaluator& eval_;
    const Architecture& arch_;
    std::vector<std::uint32_t> kinds_;
    std::uint32_t n_kinds_ = 0;
};

} // namespace vramfit
