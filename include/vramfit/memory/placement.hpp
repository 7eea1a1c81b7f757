#pragma once

#include "vramfit/model/model.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vramfit {

/// Devices are counted from 0 in the order in which they were given; the host is `host_device`.
inline constexpr std::int32_t host_device = -1;

/// How a model is spread over several devices (llama.h, `llama_split_mode`).
enum class SplitMode : std::uint8_t {
    none,  ///< everything on the main device
    layer, ///< whole layers
    row,   ///< layers as well, but the rows of their matrices over all devices
};

/// The tensors whose full name a regular expression finds (`-ot`): where they lie, wherever their layer does.
struct TensorOverride {
    std::string pattern; ///< ECMAScript, searched for anywhere in the name
    std::int32_t device = host_device;

    bool operator==(const TensorOverride&) const = default;
};

/// What llama.cpp's `--fit` takes out of a layer's feed-forward network (common/fit.cpp).
enum class LayerPart : std::uint8_t {
    experts,       ///< the matrices of the routed experts
    down,          ///< everything named `ffn_down...`
    down_and_gate, ///< and `ffn_gate...`
    ffn,           ///< and `ffn_up...`
};

/// Where a part of a layer lies, wherever the layer does. What `-ot` says with a regular expression, without one.
struct PartOverride {
    std::uint32_t layer = 0;
    LayerPart part = LayerPart::experts;
    std::int32_t device = host_device;

    bool operator==(const PartOverride&) const = default;
};

/// Which layers are asked to lie where.
struct PlacementRequest {
    std::uint32_t n_devices = 1;
    std::int64_t n_gpu_layers = -1;   ///< layers counted from the end, the output layer being one; -1: all
    std::vector<double> tensor_split; ///< shares of the devices; empty: equal
    std::uint32_t n_cpu_moe = 0;      ///< the experts of that many first layers stay on the host; UINT32_MAX: of all
    std::vector<TensorOverride> overrides; ///< the first that matches a tensor decides; before `n_cpu_moe`
    std::vector<PartOverride> parts;       ///< one a layer at most; of trials, which a command says with `overrides`
    SplitMode split_mode = SplitMode::layer;
    std::uint32_t main_device = 0; ///< with SplitMode::none
    bool no_alloc = false;         ///< as `--fit` plans it, which takes more on several devices than a load does

    bool operator==(const PlacementRequest&) const = default;
};

/// Where everything lies: the device of each block and of the output layer, and of each tensor.
struct Placement {
    std::uint32_t n_devices = 1; ///< that are used: with SplitMode::none one, and device 0 is the main device
    std::vector<std::int32_t> layer_device;  ///< by block; one more at the end for the output layer
    std::vector<std::int32_t> tensor_device; ///< by Model::tensors
    std::vector<bool> pinned;      ///< by Model::tensors: an override decides, for all its copies; empty: there is none
    std::vector<bool> loaded;      ///< by Model::tensors: false for MTP blocks that are skipped
    bool all_offloaded = true;     ///< every layer and the output on a device
    bool overridden = false;       ///< tensors were placed one by one (`-ot`, `--n-cpu-moe`)
    bool no_alloc = false;         ///< as the request has it
    std::vector<double> row_ends;  ///< where rows are split: upper ends of the devices' shares of 1; else empty
    std::int32_t tied_output = -1; ///< the token embedding that serves as output matrix, too, or -1
    std::int32_t tied_device = host_device; ///< where it lies as that: a second copy unless it lies there already

    std::int32_t output_device() const { return layer_device.back(); }

    /// Can batches run through the devices one behind the other? Where the cache lies on the devices as well, llama.cpp
    /// then keeps several copies of the inputs (llama-context.cpp, pipeline_parallel).
    bool may_pipeline() const { return n_devices > 1 && all_offloaded && !overridden && row_ends.empty(); }
};

/// Which tensors of a model the regular expressions of overrides find. Each expression is compiled and searched for
/// once, however many placements are tried.
class TensorPatterns {
public:
    /// `model` must outlive the patterns.
    explicit TensorPatterns(const Model& model);

    /// By Model::tensors. Throws Error for a text that is no regular expression.
    const std::vector<bool>& matches(const std::string& pattern);
    bool any(const std::string& pattern);

private:
    const Model& model_;
    std::vector<std::string> names_; ///< full ones, once somebody asks
    std::map<std::string, std::vector<bool>> matches_;
};

/// The device, counted as in `request`, that is `device` in its placement: with SplitMode::none its only one is the main
/// device.
std::int32_t requested_device(const PlacementRequest& request, std::int32_t device);

/// Places layers and tensors as llama.cpp does (llama-model.cpp, `load_tensors`; llama-model-loader.cpp for overrides).
/// `mtp`: the MTP blocks are loaded. Throws Error for a request that cannot be meant: shares for more devices than
/// there are, a device that does not exist, a pattern that is no regular expression.
Placement place(const Model& model, const PlacementRequest& request, bool mtp, TensorPatterns& patterns);
Placement place(const Model& model, const PlacementRequest& request, bool mtp);

} // namespace vramfit
