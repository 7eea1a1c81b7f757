#pragma once

#include "vramfit/memory/graph.hpp"

#include <cstdint>
#include <vector>

namespace vramfit {

/// What the scheduler needs to know beside the graph.
struct ScheduleRequest {
    std::uint32_t n_devices = 1;
    bool op_offload = true;
    bool pipeline = false; ///< several devices, everything offloaded: four copies of every split input
    bool pins = false;     ///< a real load pins some nodes to a device (llama-context.cpp, llama-graph.cpp)
    const Placement* placement = nullptr;
    bool attention_on_host = false; ///< one of those pins: attention without flash attention, its cache on the host
};

/// A step of the graph as the allocator gets it: a node of the graph, a copy of a tensor on another device, or
/// something that only keeps its sources alive.
struct ScheduledNode {
    std::int32_t tensor = -1;
    std::int32_t backend = 0;
};

/// The graph cut into splits, one after the other on one backend each, with the copies between them.
/// Backends are the devices in order, then the host (`n_devices`).
struct Schedule {
    Graph graph;                        ///< with copies as tensors of their own, read by the nodes of their split
    std::vector<ScheduledNode> steps;   ///< in order
    std::vector<ScheduledNode> leafs;   ///< graph inputs (and their copies in a pipeline) with their backend
    std::vector<std::int32_t> backends; ///< by tensor of the graph
    std::uint32_t n_splits = 0;
};

/// Assigns backends and cuts the graph (ggml-backend.cpp, `ggml_backend_sched_split_graph`), then adds what CUDA's graph
/// optimiser keeps alive (ggml-cuda.cu).
/// `storage`: a schedule that is no longer needed, whose memory is used again.
Schedule schedule(Graph graph, const ScheduleRequest& request, Schedule storage = {});

} // namespace vramfit
