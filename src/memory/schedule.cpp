#include "vramfit/memory/schedule.hpp"

#include <algorithm>
#include <unordered_map>

namespace vramfit {
namespace {

constexpr std::uint64_t offload_batch = 32;    // ggml-cuda.cu: fewer rows are not worth copying a weight
constexpr std::uint32_t first_input_cap = 30;  // ggml-backend.cpp, GGML_SCHED_MAX_SPLIT_INPUTS
constexpr std::uint32_t n_pipeline_copies = 4; // ggml-backend.cpp, GGML_SCHED_MAX_COPIES
constexpr std::int32_t unassigned = -1;

/// Rows that an operation works on, as CUDA counts them to decide whether a host weight is worth copying
/// (ggml-cuda.cu, get_op_batch_size).
std::uint64_t batch_size(const GraphTensor& t) {
    switch (t.op) {
    case Op::get_rows: return 0;
    case Op::mul_mat: return t.ne[1];
    case Op::mul_mat_id:
    case Op::rope:
    case Op::rope_back: return t.ne[2];
    default: return t.ne[1] * t.ne[2] * t.ne[3];
    }
}

class Scheduler {
public:
    Scheduler(Graph graph, const ScheduleRequest& request, Schedule storage)
        : request_(request),
          host_(static_cast<std::int32_t>(request.n_devices)),
          s_(std::move(storage)) {
        s_.graph = std::move(graph);
        s_.steps.clear();
        s_.leafs.clear();
        s_.n_splits = 0;
        s_.backends.assign(s_.graph.tensors.size(), unassigned);
    }

    Schedule run() {
        pin();
        assign_from_buffers();
        expand();
        assign_rest();
        settle_sources();
        split();
        return std::move(s_);
    }

private:
    GraphTensor& tensor(std::int32_t id) { return s_.graph.tensors[static_cast<std::size_t>(id)]; }
    std::int32_t& backend(std::int32_t id) { return s_.backends[static_cast<std::size_t>(id)]; }
    std::int32_t backend_of_device(std::int32_t device) const { return device == host_device ? host_ : device; }
    bool is_view(std::int32_t id) { return traits(tensor(id).op).view; }
    bool supports(std::int32_t on, const GraphTensor& t) const { return on == host_ || !t.on_host; }

    // llama-context.cpp pins the norms of a layer to the layer's device, so that no norm runs on the device before.
    // llama-graph.cpp pins the result of an attention whose cache is on the host (`| attention` in the templates).
    void pin() {
        if (!request_.pins) return;
        for (const std::int32_t id : s_.graph.nodes) {
            const GraphTensor& t = tensor(id);
            if (t.layer < 0 || t.line == nullptr) continue;
            if ((t.op == Op::rms_norm || t.op == Op::norm) && !t.line->free)
                backend(id) = backend_of_device(request_.placement->layer_device[static_cast<std::size_t>(t.layer)]);
            else if (request_.attention_on_host && t.line->attention)
                backend(id) = host_;
        }
    }

    void assign_from_buffers() {
        for (std::size_t i = 0; i < s_.graph.tensors.size(); ++i) {
            const GraphTensor& t = s_.graph.tensors[i];
            if (t.external)
                s_.backends[i] = backend_of_device(t.device);
            else if (t.input)
                s_.backends[i] = host_;
        }
        for (const std::int32_t id : s_.graph.nodes) {
            if (backend(id) == unassigned) backend(id) = backend_from_weights(tensor(id));
        }
    }

    std::int32_t backend_from_weights(const GraphTensor& t) {
        if (t.op == Op::rope || t.op == Op::flash_attn_ext) return unassigned;
        for (const std::int32_t source : s_.graph.sources_of(t)) {
            if (!tensor(source).weight) continue;
            const std::int32_t there = backend(source);
            if (there == host_ && request_.op_offload && request_.n_devices > 0 && batch_size(t) >= offload_batch &&
                supports(0, t))
                return 0;
            return there;
        }
        return unassigned;
    }

    // Four sweeps: devices spread down, then up (a host node stops them), then whatever is next to it.
    void expand() {
        sweep(s_.graph.nodes.begin(), s_.graph.nodes.end(), true);
        sweep(s_.graph.nodes.rbegin(), s_.graph.nodes.rend(), true);
        sweep(s_.graph.nodes.begin(), s_.graph.nodes.end(), false);
        sweep(s_.graph.nodes.rbegin(), s_.graph.nodes.rend(), false);
    }

    template <typename Iterator>
    void sweep(Iterator begin, Iterator end, bool devices_only) {
        std::int32_t current = unassigned;
        for (Iterator it = begin; it != end; ++it) {
            if (is_view(*it)) continue;
            std::int32_t& here = backend(*it);
            if (here != unassigned)
                current = devices_only && here == host_ ? unassigned : here;
            else if (current != unassigned && supports(current, tensor(*it)))
                here = current;
        }
    }

    void assign_rest() {
        for (const std::int32_t id : s_.graph.nodes) {
            if (is_view(id) || backend(id) != unassigned) continue;
            std::int32_t best = host_;
            int best_count = -1;
            for (std::int32_t b = 0; b <= host_; ++b) {
                if (!supports(b, tensor(id))) continue;
                int count = 0;
                for (const std::int32_t source : s_.graph.sources_of(tensor(id))) count += backend(source) == b ? 1 : 0;
                if (count > best_count) {
                    best_count = count;
                    best = b;
                }
            }
            backend(id) = best;
        }
    }

    void settle_sources() {
        for (const std::int32_t id : s_.graph.nodes) {
            if (tensor(id).view_root >= 0 && backend(id) == unassigned) backend(id) = backend(tensor(id).view_root);
            for (const std::int32_t source : s_.graph.sources_of(tensor(id))) {
                if (backend(source) != unassigned) continue;
                const std::int32_t root = tensor(source).view_root;
                backend(source) = root >= 0 ? backend(root) : backend(id);
            }
        }
    }

    /// The state of the split that is being filled.
    struct Split {
        std::int32_t backend = unassigned;
        std::uint32_t cap = first_input_cap;
        std::vector<std::int32_t> inputs; // sources to be copied, in order of first use
        std::size_t begin = 0, end = 0;   // its nodes, of the graph's
    };

    void split() {
        add_leafs(false);
        Split current;
        const std::vector<std::int32_t>& nodes = s_.graph.nodes;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::int32_t id = nodes[i];
            if (is_view(id)) continue;
            const std::int32_t here = backend(id);
            if (current.backend == unassigned) current.backend = here;
            if (here != current.backend || (!current.inputs.empty() && needs_new_split(current, id))) {
                current.end = i;
                close(current);
                current = Split{};
                current.backend = here;
                current.begin = i;
            }
            copy_sources(current, id);
            if (current.inputs.size() > current.cap) current.cap *= 2;
        }
        current.end = nodes.size();
        close(current);
        add_leafs(true); // behind the copies of a pipeline, as the graph lists them
    }

    void add_leafs(bool scratch) {
        for (const std::int32_t input : s_.graph.inputs) {
            if (tensor(input).scratch == scratch) s_.leafs.push_back({input, backend(input)});
        }
    }

    bool is_foreign(std::int32_t source, std::int32_t here) { return backend(source) != here; }

    static std::uint64_t copy_key(std::int32_t source, std::int32_t on) {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32) | static_cast<std::uint32_t>(on);
    }

    bool needs_new_split(const Split& split, std::int32_t id) {
        for (const std::int32_t source : s_.graph.sources_of(tensor(id))) {
            if (!is_foreign(source, split.backend)) continue;
            if (tensor(source).weight) return true;
            if (split.inputs.size() >= split.cap && !copies_.contains(copy_key(source, split.backend))) return true;
        }
        return false;
    }

    void copy_sources(Split& split, std::int32_t id) {
        const std::uint32_t first = tensor(id).first_source;
        for (std::uint32_t i = first; i < first + tensor(id).n_sources; ++i) {
            const std::int32_t source = s_.graph.sources[i];
            if (request_.pipeline && tensor(source).input && !pipelined(source))
                add_pipeline_copies(source, backend(source), tensor(source));
            if (!is_foreign(source, split.backend)) continue;
            const auto [it, added] = copies_.try_emplace(copy_key(source, split.backend), -1);
            if (added) {
                GraphTensor copy;
                copy.type = tensor(source).type;
                copy.ne = tensor(source).ne;
                copy.nbytes = tensor(source).nbytes;
                copy.layer = tensor(source).layer;
                copy.input = copy.output = request_.pipeline;
                it->second = add_tensor(copy, split.backend);
                if (request_.pipeline) {
                    add_pipeline_copies(-1, split.backend, copy);
                    s_.leafs.push_back({it->second, split.backend});
                }
                split.inputs.push_back(source);
            }
            s_.graph.sources[i] = it->second;
        }
    }

    bool pipelined(std::int32_t source) { return std::ranges::find(pipelined_, source) != pipelined_.end(); }

    /// The other copies of an input in a pipeline: they only take memory.
    void add_pipeline_copies(std::int32_t source, std::int32_t on, GraphTensor copy) {
        copy.op = Op::none;
        copy.input = copy.output = true;
        copy.first_source = copy.n_sources = 0;
        for (std::uint32_t i = 1; i < n_pipeline_copies; ++i) s_.leafs.push_back({add_tensor(copy, on), on});
        if (source >= 0) {
            tensor(source).output = true;
            pipelined_.push_back(source);
        }
    }

    std::int32_t add_tensor(const GraphTensor& t, std::int32_t on) {
        s_.graph.tensors.push_back(t);
        s_.backends.push_back(on);
        return static_cast<std::int32_t>(s_.graph.tensors.size()) - 1;
    }

    /// A step that does no work: it keeps `sources` from being freed until its turn.
    void add_keeper(std::span<const std::int32_t> sources, std::int32_t on) {
        GraphTensor keeper;
        const std::int32_t root = tensor(sources.front()).view_root;
        keeper.view_root = root >= 0 ? root : sources.front();
        keeper.external = tensor(sources.front()).external;
        keeper.first_source = static_cast<std::uint32_t>(s_.graph.sources.size());
        keeper.n_sources = static_cast<std::uint32_t>(sources.size());
        const std::vector<std::int32_t> kept(sources.begin(), sources.end());
        s_.graph.sources.insert(s_.graph.sources.end(), kept.begin(), kept.end());
        s_.steps.push_back({add_tensor(keeper, on), on});
    }

    void close(const Split& split) {
        if (split.begin == split.end) return;
        ++s_.n_splits;
        for (const std::int32_t source : split.inputs) {
            add_keeper({&source, 1}, backend(source));
            if (!request_.pipeline) s_.steps.push_back({copies_.at(copy_key(source, split.backend)), split.backend});
        }
        for (std::size_t i = split.begin; i < split.end; ++i) {
            const std::int32_t id = s_.graph.nodes[i];
            s_.steps.push_back({id, is_view(id) ? backend(id) : split.backend});
            keep_experts(id);
        }
    }

    // ggml-cuda.cu: the weighted experts and their weights stay alive until they are summed, where the sum is fused.
    void keep_experts(std::int32_t id) {
        if (next_sum_ >= s_.graph.expert_sums.size() || s_.graph.expert_sums[next_sum_].last_add != id) return;
        const ExpertSum sum = s_.graph.expert_sums[next_sum_++];
        const GraphTensor& mul = tensor(sum.mul);
        if (mul.op == Op::mul && sum.n_experts >= 2 && sum.n_experts <= 15 && backend(sum.mul) != host_) {
            const auto sources = s_.graph.sources_of(mul);
            const std::vector<std::int32_t> kept(sources.begin(), sources.end());
            add_keeper(kept, backend(sum.mul));
        }
    }

    const ScheduleRequest& request_;
    std::int32_t host_;
    Schedule s_;
    std::unordered_map<std::uint64_t, std::int32_t> copies_;
    std::vector<std::int32_t> pipelined_;
    std::size_t next_sum_ = 0; ///< expert sums come in the order of the nodes
};

} // namespace

Schedule schedule(Graph graph, const ScheduleRequest& request, Schedule storage) {
    return Scheduler(std::move(graph), request, std::move(storage)).run();
}

} // namespace vramfit
