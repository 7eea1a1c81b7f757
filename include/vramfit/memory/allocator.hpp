#pragma once

#include "vramfit/memory/schedule.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// ggml's dynamic allocator of one buffer type (ggml-alloc.c, `ggml_dyn_tallocr`): best fit over a list of free blocks
/// whose last one never ends. Taken literally, empty requests included: llama.cpp's recurrent models make them, and
/// they change what later requests get.
class Pool {
public:
    explicit Pool(std::uint64_t alignment);

    std::uint64_t alloc(std::uint64_t size);
    void free(std::uint64_t offset, std::uint64_t size);

    std::uint64_t max_size() const { return max_size_; }
    struct Block {
        std::uint64_t offset, size;
        bool operator==(const Block&) const = default;
    };
    const std::vector<Block>& blocks() const { return blocks_; }

private:
    std::uint64_t round_up(std::uint64_t size) const { return (size + alignment_ - 1) / alignment_ * alignment_; }

    std::uint64_t alignment_;
    std::uint64_t max_size_ = 0;
    std::vector<Block> blocks_;
};

/// Where a tensor of a schedule was put.
struct Allocation {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::int32_t backend = -1; ///< -1: not allocated (external, or a view)
    std::int32_t in_place_of = -1;

    // While the replay runs: uses that are still to come, and whether the memory is the tensor's own.
    std::int32_t children = 0;
    std::int32_t views = 0;
    bool own = false;
};

struct Replay {
    std::vector<std::uint64_t> buffer_bytes; ///< by backend: devices in order, then the host
    std::vector<Allocation> allocations;     ///< by tensor of the schedule's graph
    /// The allocator's state before each layer of the graph (as built), and behind the last: free blocks, and which
    /// lines' results lie where. Two equal ones mean that what follows needs the same memory. 0 where not asked for.
    std::vector<std::uint64_t> boundaries;
};

/// Replays ggml's graph allocator (ggml-alloc.c, `ggml_gallocr_reserve`) over a schedule: the compute buffers.
/// `boundaries`: which of the states between layers are wanted, in any order. `storage`: a replay that is no longer
/// needed, whose memory is used again.
Replay replay(const Schedule& schedule, std::uint32_t n_devices, const std::vector<std::uint32_t>& boundaries = {},
              Replay storage = {});

/// Bytes that a tensor of a graph takes in a CUDA buffer before alignment: its own, the row padding of quantized
/// types, and the f16 copies of K and V that FLASH_ATTN_EXT makes (ggml-cuda.cu, get_alloc_size).
std::uint64_t cuda_graph_alloc_size(const Graph& graph, const GraphTensor& tensor);

} // namespace vramfit
