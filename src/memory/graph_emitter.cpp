#include "graph_emitter.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/flash_attention.hpp"

#include <algorithm>

namespace vramfit {

TensorType node_type(NodeType kind, TensorType fixed, const GraphRequest& request) {
    switch (kind) {
    case NodeType::type_k: return request.settings->type_k;
    case NodeType::type_v: return request.settings->type_v;
    case NodeType::type_mask: return request.flash_attn ? TensorType::f16 : TensorType::f32; // llama-graph.cpp
    case NodeType::fixed: break;
    }
    return fixed;
}

std::uint64_t shape_bytes(TensorType type, const std::array<std::uint64_t, 4>& ne) {
    std::uint64_t bytes = row_size(type, ne[0]);
    for (std::size_t i = 1; i < 4; ++i) bytes = checked_mul(bytes, ne[i], "a tensor of the graph");
    return bytes;
}

std::int32_t cache_holding(const std::vector<Cache>& caches, std::int32_t il, bool recurrent) {
    for (std::size_t i = 0; i < caches.size(); ++i) {
        if (caches[i].recurrent == recurrent && caches[i].layer(il) != nullptr) return static_cast<std::int32_t>(i);
    }
    return -1;
}

GraphEmitter::GraphEmitter(Evaluator& evaluator, const GraphRequest& request, Graph graph)
    : eval_(evaluator),
      arch_(evaluator.architecture()),
      model_(evaluator.model()),
      request_(request),
      graph_(std::move(graph)),
      results_(arch_.graph.n_results, -1),
      weights_(model_.tensors.size(), 0) {
    const std::size_t n_inputs = arch_.graph.inputs.size();
    inputs_.assign(n_inputs * (request.caches->size() + 1), -1);
    layer_inputs_.assign(n_inputs, -1);
    for (const Cache& cache : *request.caches) cache_leafs_.emplace_back(cache.layers.size() * 4, -1);
}

void GraphEmitter::enter_layer(std::int32_t il, std::int32_t tag, std::int32_t kv_il, std::int32_t attention,
                               std::int32_t recurrent) {
    il_ = il;
    tag_ = tag;
    if (il >= 0) graph_.counts_before.push_back({graph_.n_nodes, n_leafs()});
    kv_il_ = kv_il;
    attention_ = attention;
    recurrent_ = recurrent;
    std::ranges::fill(layer_inputs_, -1);
}

void GraphEmitter::emit(const std::vector<ResolvedLine>& lines) {
    for (const ResolvedLine& line : lines) emit(line);
}

Graph GraphEmitter::take() {
    graph_.n_leafs = n_leafs();
    return std::move(graph_);
}

void GraphEmitter::emit(const ResolvedLine& r) {
    switch (r.line->kind) {
    case GraphLine::Kind::touch: source(r, r.line->sources.front()); return;
    case GraphLine::Kind::alias:
        results_[r.line->result] = results_[static_cast<std::size_t>(r.line->sources.front().index)];
        return;
    case GraphLine::Kind::store: return emit_store(r);
    case GraphLine::Kind::repeat: return; // resolved into the lines that it repeats
    case GraphLine::Kind::node: break;
    }
    if (r.line->op == Op::sum_experts) return emit_expert_sum(r);
    gather_sources(r);
    GraphTensor t;
    t.op = r.line->op;
    t.type = r.type;
    t.ne = r.ne;
    t.nbytes = r.nbytes;
    if (r.line->op == Op::set_rows || r.line->in_place) {
        // The result is the tensor that is written into: SET_ROWS's last source, otherwise the first (ggml.c).
        t = view_of(r.line->in_place ? scratch_.front() : scratch_.back(), r.ne, r.nbytes);
        t.op = r.line->op;
    } else if (r.line->op == Op::view) {
        const GraphTensor& viewed = tensor(scratch_.front());
        const std::uint64_t cut = row_size(viewed.type, r.cut);
        if (cut > viewed.nbytes) throw Error(r.line->where.text() + ": the view is cut by more than there is");
        const std::uint64_t bytes = r.view_bytes != 0 ? r.view_bytes : viewed.nbytes - cut;
        t = view_of(scratch_.front(), r.has_ne ? r.ne : viewed.ne, bytes);
        graph_.n_nodes += r.count > 1 ? r.count - 1 : 0;
    }
    t.output = r.output;
    t.on_host = r.line->on_host || !cuda_supports(t);
    t.line = r.line;
    results_[r.line->result] = add_node(t, scratch_);
}

bool GraphEmitter::cuda_supports(const GraphTensor& t) const {
    switch (t.op) {
    case Op::flash_attn_ext: return scratch_.size() < 3 || has_attention_kernel(t);
    // Neither takes iq4_nl, which only caches can be (ggml-cuda.cu, supports_op).
    case Op::get_rows: return tensor(scratch_[0]).type != TensorType::iq4_nl;
    case Op::lightning_indexer: return tensor(scratch_[1]).type != TensorType::iq4_nl;
    default: return true;
    }
}

bool GraphEmitter::has_attention_kernel(const GraphTensor& t) const {
    const GraphTensor& k = tensor(scratch_[1]);
    const GraphTensor& v = tensor(scratch_[2]);
    return cuda_flash_attention(k.type, v.type, k.ne[0], v.ne[0], k.ne[2] == 0 ? 0 : t.ne[1] / k.ne[2]);
}

void GraphEmitter::emit_store(const ResolvedLine& r) {
    gather_sources(r);
    const std::int32_t cache = cache_leaf(r.line->destination, *r.line);
    GraphTensor t;
    t.op = r.line->op;
    t.type = tensor(cache).type;
    t.ne = tensor(cache).ne;
    t.nbytes = tensor(cache).nbytes;
    t.external = true;
    t.view_root = cache;
    t.device = tensor(cache).device;
    t.line = r.line;
    graph_.n_nodes += r.line->destination.views;
    add_node(t, scratch_);
}

void GraphEmitter::emit_expert_sum(const ResolvedLine& r) {
    const std::int32_t experts = source(r, r.line->sources.front());
    if (r.count == 0) throw Error(r.line->where.text() + ": a sum over no experts");
    const std::uint64_t row = 4 * r.ne[0];
    const std::uint64_t bytes = r.ne[1] == 0 ? 0 : row * r.count * (r.ne[1] - 1) + row;
    std::vector<std::int32_t> rows;
    for (std::uint64_t i = 0; i < r.count; ++i) {
        GraphTensor view = view_of(experts, r.ne, bytes);
        view.line = r.line;
        rows.push_back(add_node(view, {&experts, 1}));
    }
    std::int32_t sum = rows.front();
    for (std::size_t i = 1; i < rows.size(); ++i) {
        GraphTensor add;
        add.op = Op::add;
        add.ne = r.ne;
        add.nbytes = r.nbytes;
        add.line = r.line;
        const std::array<std::int32_t, 2> terms{sum, rows[i]};
        sum = add_node(add, terms);
    }
    graph_.expert_sums.push_back({experts, sum, r.count});
    results_[r.line->result] = sum;
}

void GraphEmitter::gather_sources(const ResolvedLine& r) {
    scratch_.clear();
    for (const SourceRef& ref : r.line->sources) {
        const std::int32_t id = source(r, ref);
        if (id >= 0) scratch_.push_back(id);
    }
}

std::int32_t GraphEmitter::source(const ResolvedLine& r, const SourceRef& ref) {
    std::int32_t id = -1;
    switch (ref.kind) {
    case SourceRef::Kind::result: id = results_[static_cast<std::size_t>(ref.index)]; break;
    case SourceRef::Kind::input: id = input_leaf(static_cast<std::size_t>(ref.index)); break;
    case SourceRef::Kind::weight: id = weight_leaf(ref, *r.line); break;
    case SourceRef::Kind::cache: id = cache_leaf(ref, *r.line); break;
    }
    if (id < 0) {
        if (ref.kind == SourceRef::Kind::weight && ref.optional) return -1;
        throw Error(r.line->where.text() + ": a source has no value in layer " + std::to_string(il_) + " of " +
                    model_.id);
    }
    if (ref.views == 0) return id;
    // A copy of the view on another device may be overwritten by a node of its shape (ggml-alloc.c), so the view
    // takes the shape of the node that reads it where that can happen.
    const bool same = traits(r.line->op).in_place && tensor(id).nbytes == r.nbytes;
    GraphTensor view = view_of(id, same ? r.ne : tensor(id).ne, tensor(id).nbytes);
    view.line = r.line;
    graph_.n_nodes += ref.views - 1U;
    return add_node(view, {&id, 1});
}

GraphTensor GraphEmitter::view_of(std::int32_t id, const std::array<std::uint64_t, 4>& ne, std::uint64_t bytes) const {
    const GraphTensor& viewed = tensor(id);
    GraphTensor view;
    view.op = Op::view;
    view.type = viewed.type;
    view.ne = ne;
    view.nbytes = bytes;
    view.external = viewed.external;
    view.device = viewed.device;
    view.view_root = viewed.view_root >= 0 ? viewed.view_root : id;
    return view;
}

std::int32_t GraphEmitter::add_node(GraphTensor t, std::span<const std::int32_t> sources) {
    t.first_source = static_cast<std::uint32_t>(graph_.sources.size());
    t.n_sources = static_cast<std::uint32_t>(sources.size());
    t.layer = tag_;
    graph_.sources.insert(graph_.sources.end(), sources.begin(), sources.end());
    const auto id = static_cast<std::int32_t>(graph_.tensors.size());
    graph_.tensors.push_back(t);
    graph_.nodes.push_back(id);
    ++graph_.n_nodes;
    return id;
}

std::int32_t GraphEmitter::add_leaf(const GraphTensor& t) {
    graph_.tensors.push_back(t);
    return static_cast<std::int32_t>(graph_.tensors.size()) - 1;
}

std::int32_t GraphEmitter::input_leaf(std::size_t index) {
    const InputTemplate& input = arch_.graph.inputs[index];
    graph_.layer_inputs = graph_.layer_inputs || input.scope == InputTemplate::Scope::layer;
    const std::size_t per_cache =
        input.scope == InputTemplate::Scope::cache ? static_cast<std::size_t>(attention_ + 1) : 0;
    std::int32_t& slot = input.scope == InputTemplate::Scope::layer
                             ? layer_inputs_[index]
                             : inputs_[index * (request_.caches->size() + 1) + per_cache];
    if (slot >= 0) return slot;
    GraphTensor t;
    t.type = node_type(input.node_type, input.type, request_);
    for (std::size_t i = 0; i < input.ne.size(); ++i) t.ne[i] = eval_.count(input.ne[i], input.where);
    t.nbytes = shape_bytes(t.type, t.ne);
    if (input.view_of >= 0) {
        const std::int32_t root = input_leaf(static_cast<std::size_t>(input.view_of));
        const GraphTensor view = view_of(root, t.ne, t.nbytes);
        return slot = add_node(view, {&root, 1});
    }
    t.input = !input.scratch;
    t.scratch = input.scratch;
    slot = add_leaf(t);
    graph_.inputs.push_back(slot);
    return slot;
}

std::int32_t GraphEmitter::weight_leaf(const SourceRef& ref, const GraphLine& line) {
    const auto name = static_cast<std::uint32_t>(ref.index);
    std::int32_t index = eval_.tensor(name, ref.global ? -1 : ref.next_layer ? il_ + 1 : il_);
    bool tied = false;
    if (index < 0 && ref.global && arch_.tensors.at(name) == "output") {
        index = request_.placement->tied_output;
        tied = index >= 0;
    }
    if (index < 0) {
        if (ref.optional) return -1;
        throw Error(line.where.text() + ": " + model_.id + " has no tensor '" + arch_.tensors.at(name) + "' in layer " +
                    std::to_string(il_));
    }
    const Tensor& weight = model_.tensors[static_cast<std::size_t>(index)];
    const std::int32_t device = tied ? request_.placement->tied_device : weight_device(weight, index);
    std::int32_t& slot = tied                                    ? output_copy_
                         : weight.section == TensorSection::each ? shared_weights_[{index, device}]
                                                                 : weights_[static_cast<std::size_t>(index)];
    if (slot > 0) return slot - 1;
    GraphTensor t;
    t.type = request_.types->empty() ? weight.type : (*request_.types)[static_cast<std::size_t>(index)];
    t.ne = weight.ne;
    t.nbytes = tensor_bytes(weight, t.type);
    t.external = t.weight = true;
    t.device = device;
    slot = add_leaf(t) + 1;
    return slot - 1;
}

std::int32_t GraphEmitter::weight_device(const Tensor& weight, std::int32_t index) const {
    const Placement& placement = *request_.placement;
    const bool pinned = !placement.pinned.empty() && placement.pinned[static_cast<std::size_t>(index)];
    if (weight.section == TensorSection::each && il_ >= 0 && !pinned)
        return placement.layer_device[static_cast<std::size_t>(il_)];
    return placement.tensor_device[static_cast<std::size_t>(index)];
}

std::int32_t GraphEmitter::cache_leaf(const SourceRef& ref, const GraphLine& line) {
    const bool state = ref.part == CachePart::r || ref.part == CachePart::s;
    std::int32_t index = ref.index >= 0 ? ref.index : state ? recurrent_ : attention_;
    if (index < 0 && ref.next_layer) index = first_recurrent();
    const Cache* cache = index < 0 ? nullptr : &(*request_.caches)[static_cast<std::size_t>(index)];
    const CacheLayer* layer = nullptr;
    if (cache != nullptr) layer = ref.next_layer ? cache->layer_behind(il_) : cache->layer(state ? il_ : kv_il_);
    if (layer == nullptr)
        throw Error(line.where.text() + ": layer " + std::to_string(il_) + " of " + model_.id + " keeps no such cache");
    const auto position =
        static_cast<std::size_t>(layer - cache->layers.data()) * 4 + static_cast<std::size_t>(ref.part);
    std::int32_t& slot = cache_leafs_[static_cast<std::size_t>(index)][position];
    if (slot >= 0) return slot;
    GraphTensor t;
    t.external = true;
    t.device = layer->device;
    switch (ref.part) {
    case CachePart::k:
        t.type = request_.settings->type_k;
        t.ne[0] = layer->k_width;
        t.nbytes = layer->k_bytes;
        break;
    case CachePart::v:
        t.type = request_.settings->type_v;
        t.ne[0] = layer->v_width;
        t.nbytes = layer->v_bytes;
        break;
    case CachePart::r:
        t.ne[0] = layer->r_bytes / 4;
        t.nbytes = layer->r_bytes;
        break;
    case CachePart::s:
        t.ne[0] = layer->s_bytes / 4;
        t.nbytes = layer->s_bytes;
        break;
    }
    if (!state) {
        t.ne[1] = cache->cells;
        t.ne[2] = cache->n_stream;
    }
    return slot = add_leaf(t);
}

std::int32_t GraphEmitter::first_recurrent() const {
    for (std::size_t i = 0; i < request_.caches->size(); ++i) {
        if ((*request_.caches)[i].recurrent) return static_cast<std::int32_t>(i);
    }
    return -1;
}

} // namespace vramfit
