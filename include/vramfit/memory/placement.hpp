#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit {

/// Devices are counted from 0 in the order in which they were given; the host is `host_device`.
inline constexpr std::int32_t host_device = -1;

/// How a model is spread over several devices (llama.h, `llama_split_mode`).
enum class SplitMode : std::uint8_t {
    none,  ///< everything on the main device
    layer, ///< whole layers
    row,   ///< layers, and the rows of their matrices over all devices
};

/// The tensors whose full name a regular expression finds (`-ot`): where they lie, wherever their layer does.
struct TensorOverride {
    std::string pattern; ///< ECMAScript, searched for anywhere in the name
    std::int32_t device = host_device;

    bool operator==(const TensorOverride&) const = default;
};

/// Which layers are asked to lie where.
struct PlacementRequest {
    std::uint32_t n_devices = 1;
    std::int64_t n_gpu_layers = -1;   ///< layers counted from the end, the output layer being one; -1: all
    std::vector<double> tensor_split; ///< shares of the devices; empty: equal
    std::uint32_t n_cpu_moe = 0;      ///< the experts of that many first layers stay on the host; UINT32_MAX: of all
    std::vector<TensorOverride> overrides; ///< the first that matches a tensor decides; before `n_cpu_moe`
    SplitMode split_mode = SplitMode::layer;
    std::uint32_t main_device = 0; ///< with SplitMode::none and row

    bool operator==(const PlacementRequest&) const = default;
};

/// Where everything lies: the device of each block and of the output layer, and of each tensor.
struct Placement {
    std::uint32_t n_devices = 1;
    std::vector<std::int32_t> layer_device;  ///< by block; one more at the end for the output layer
    std::vector<std::int32_t> tensor_device; ///< by Model::tensors
    std::vector<bool> loaded;                ///< by Model::tensors: false for MTP blocks that are skipped
    bool all_offloaded = true;               ///< every layer and the output on a device
    bool overridden = false;                 ///< tensors were placed one by one (`--n-cpu-moe`)
    std::int32_t tied_output = -1;           ///< the token embedding that is loaded once more as output matrix, or -1

    std::int32_t output_device() const { return layer_device.back(); }
};

/// Places layers and tensors as llama.cpp does (llama-model.cpp, `load_tensors`). `mtp`: the MTP blocks are loaded.
Placement place(const Model& model, const PlacementRequest& request, bool mtp);

} // namespace vramfit
