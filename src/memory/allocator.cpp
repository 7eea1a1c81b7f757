#include "vramfit/memory/allocator.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
#include <limits>

namespace vramfit {
namespace {

constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max() / 2; // ggml-alloc.c uses SIZE_MAX / 2

} // namespace

Pool::Pool(std::uint64_t alignment) : alignment_(alignment), blocks_{{0, endless}} {}

std::uint64_t Pool::alloc(std::uint64_t size) {
    size = round_up(size);
    std::size_t best = blocks_.size() - 1;
    std::uint64_t best_size = endless + 1;
    for (std::size_t i = 0; i + 1 < blocks_.size(); ++i) {
        if (blocks_[i].size >= size && blocks_[i].size <= best_size) {
            best = i;
            best_size = blocks_[i].size;
        }
    }
    Block& block = blocks_[best];
    if (block.size < size) throw_too_large("a compute buffer");
    const std::uint64_t offset = block.offset;
    block.offset += size;
    block.size -= size;
    if (block.size == 0) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(best));
    max_size_ = std::max(max_size_, offset + size);
    return offset;
}

void Pool::free(std::uint64_t offset, std::uint64_t size) {
    size = round_up(size);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        Block& block = blocks_[i];
        if (block.offset + block.size == offset) {
            block.size += size;
            if (i + 1 < blocks_.size() && block.offset + block.size == blocks_[i + 1].offset) {
                block.size += blocks_[i + 1].size;
                blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            }
            return;
        }
        if (offset + size == block.offset) {
            block.offset = offset;
            block.size += size;
            if (i > 0 && blocks_[i - 1].offset + blocks_[i - 1].size == block.offset) {
                blocks_[i - 1].size += block.size;
                blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
            }
            return;
        }
    }
    std::size_t at = 0;
    while (at < blocks_.size() && blocks_[at].offset < offset) ++at;
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at), {offset, size});
}

std::uint64_t cuda_graph_alloc_size(const Graph& graph, const GraphTensor& t) {
    std::uint64_t size = cuda_bytes(t.type, t.ne[0], t.nbytes);
    if (t.op == Op::flash_attn_ext) {
        const auto sources = graph.sources_of(t);
        if (sources.size() < 3) return size;
        const GraphTensor& k = graph.tensors[static_cast<std::size_t>(sources[1])];
        const GraphTensor& v = graph.tensors[static_cast<std::size_t>(sources[2])];
        if (k.type != TensorType::f16) size = pad(size, cuda_alignment) + 2 * k.ne[0] * k.ne[1] * k.ne[2] * k.ne[3];
        const bool v_in_k = v.view_root >= 0 && v.view_root == k.view_root; // MLA: V is a part of K's rows
        if (v.type != TensorType::f16 && !v_in_k)
            size = pad(size, cuda_alignment) + 2 * v.ne[0] * v.ne[1] * v.ne[2] * v.ne[3];
    }
    return size;
}

namespace {

class Replayer {
public:
    Replayer(const Schedule& schedule, std::uint32_t n_devices, const std::vector<std::uint32_t>& boundaries,
             Replay storage)
        : s_(schedule),
          wanted_(boundaries),
          graph_(schedule.graph),
          n_devices_(static_cast<std::int32_t>(n_devices)),
          result_(std::move(storage)) {
        result_.buffer_bytes.clear();
        result_.boundaries.clear();
        for (std::uint32_t i = 0; i < n_devices; ++i) pools_.emplace_back(cuda_alignment);
        pools_.emplace_back(host_alignment);
        result_.allocations.assign(graph_.tensors.size(), {});
    }

    Replay run() {
        for (const ScheduledNode& leaf : s_.leafs) place(leaf.tensor, leaf.backend);
        for (const ScheduledNode& step : s_.steps) count_uses(step);
        for (const ScheduledNode& step : s_.steps) {
            if (!wanted_.empty()) note_boundary(tensor(step.tensor));
            execute(step);
        }
        for (const Pool& pool : pools_) result_.buffer_bytes.push_back(pool.max_size());
        return std::move(result_);
    }

private:
    const GraphTensor& tensor(std::int32_t id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
    Allocation& allocation(std::int32_t id) { return result_.allocations[static_cast<std::size_t>(id)]; }

    std::uint64_t alloc_size(const GraphTensor& t, std::int32_t backend) const {
        return backend == n_devices_ ? t.nbytes : cuda_graph_alloc_size(graph_, t);
    }

    // A layer begins with its first node that works; views and copies come with it.
    void note_boundary(const GraphTensor& t) {
        if (t.line == nullptr || traits(t.op).view) return;
        constexpr std::int32_t head = std::numeric_limits<std::int32_t>::max();
        const std::int32_t layer = t.layer < 0 && layer_ >= 0 ? head : t.layer;
        if (layer <= layer_) return;
        layer_ = layer;
        const auto index = static_cast<std::uint32_t>(result_.boundaries.size());
        result_.boundaries.push_back(std::ranges::find(wanted_, index) != wanted_.end() ? state_hash() : 0);
    }

    std::uint64_t state_hash() const {
        std::uint64_t hash = 14695981039346656037ULL; // FNV-1a, word by word
        const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
        for (const Pool& p : pools_) {
            for (const Pool::Block& block : p.blocks()) {
                mix(block.offset);
                mix(block.size);
            }
        }
        for (std::size_t i = 0; i < result_.allocations.size(); ++i) {
            if (!result_.allocations[i].own) continue;
            mix(reinterpret_cast<std::uintptr_t>(graph_.tensors[i].line));
            mix(result_.allocations[i].offset);
            mix(result_.allocations[i].size);
        }
        return hash;
    }

    void count_uses(const ScheduledNode& step) {
        const GraphTensor& t = tensor(step.tensor);
        if (t.view_root >= 0 && t.op != Op::none) ++allocation(t.view_root).views;
        if (t.input) place(step.tensor, step.backend);
        for (const std::int32_t source : graph_.sources_of(t)) {
            ++allocation(source).children;
            if (tensor(source).input) place(source, step.backend);
        }
    }

    void execute(const ScheduledNode& step) {
        const GraphTensor& t = tensor(step.tensor);
        for (const std::int32_t source : graph_.sources_of(t)) place(source, step.backend);
        place(step.tensor, step.backend);
        for (const std::int32_t source : graph_.sources_of(t)) release(source);
    }

    void release(std::int32_t id) {
        Allocation& s = allocation(id);
        --s.children;
        if (s.children != 0 || s.views != 0) return;
        const std::int32_t root = tensor(id).view_root;
        if (root >= 0) {
            Allocation& r = allocation(root);
            --r.views;
            if (r.views == 0 && r.children == 0 && r.own) free(root);
        } else if (s.own) {
            free(id);
        }
    }

    void free(std::int32_t id) {
        if (tensor(id).output) return;
        const Allocation& a = allocation(id);
        pool(a.backend).free(a.offset, a.size);
        allocation(id).own = false;
    }

    Pool& pool(std::int32_t backend) { return pools_[static_cast<std::size_t>(backend)]; }

    void place(std::int32_t id, std::int32_t backend) {
        const GraphTensor& t = tensor(id);
        if (t.external || t.view_root >= 0 || allocation(id).own || allocation(id).backend >= 0) return;
        allocation(id).own = true;
        if (traits(t.op).in_place && place_over_source(id, t)) return;
        Allocation& a = allocation(id);
        a.size = alloc_size(t, backend);
        a.backend = backend;
        a.offset = pool(backend).alloc(a.size);
    }

    static bool same_layout(const GraphTensor& a, const GraphTensor& b) {
        return a.type == b.type && a.ne == b.ne && a.nbytes == b.nbytes;
    }

    bool place_over_source(std::int32_t id, const GraphTensor& t) {
        for (const std::int32_t source : graph_.sources_of(t)) {
            const GraphTensor& p = tensor(source);
            Allocation& s = allocation(source);
            if (!s.own || p.output || !same_layout(p, t) || s.children != 1 || s.views != 0) continue;
            Allocation& a = allocation(id);
            a.offset = s.offset;
            a.size = s.size;
            a.backend = s.backend;
            a.in_place_of = source;
            s.own = false;
            const std::uint64_t needed = pad(alloc_size(t, a.backend), alignment(a.backend));
            const std::uint64_t held = pad(a.size, alignment(a.backend));
            a.size = alloc_size(t, a.backend);
            if (held > needed) pool(a.backend).free(a.offset + needed, held - needed);
            return true;
        }
        return false;
    }

    std::uint64_t alignment(std::int32_t backend) const {
        return backend == n_devices_ ? host_alignment : cuda_alignment;
    }

    const Schedule& s_;
    const std::vector<std::uint32_t>& wanted_;
    std::int32_t layer_ = -1;
    const Graph& graph_;
    std::int32_t n_devices_;
    std::vector<Pool> pools_;
    Replay result_;
};

} // namespace

Replay replay(const Schedule& schedule, std::uint32_t n_devices, const std::vector<std::uint32_t>& boundaries,
              Replay storage) {
    return Replayer(schedule, n_devices, boundaries, std::move(storage)).run();
}

} // namespace vramfit
