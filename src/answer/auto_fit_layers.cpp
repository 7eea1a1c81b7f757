#include "auto_fit_layers.hpp"

#include <algorithm>

namespace vramfit {
namespace {

using Layers = std::vector<DeviceLayers>; // by device
using Bytes = std::vector<std::int64_t>;  // likewise

constexpr std::size_t none = static_cast<std::size_t>(-1);

class LayerSearch {
public:
    LayerSearch(const Model& model, const Deployment& base, const FitLimits& limits, const Project& project)
        : n_layer_(countable_layers(model, base.settings)),
          experts_(model.hparams.get("expert_count", 0) > 0),
          base_(base),
          project_(project) {
        for (std::size_t i = 0; i < limits.free.size(); ++i)
            targets_.push_back(static_cast<std::int64_t>(limits.free[i]) -
                               static_cast<std::int64_t>(limits.margins[i]));
    }

    PlacementRequest run() {
        const bool refill = experts_ && spare_without_experts() > 0;
        layers_.resize(targets_.size());
        bytes_ = measure(layers_);
        for (std::size_t i = targets_.size(); i-- > 0;) fill(i);
        if (refill) give_experts_back();
        return placement_of(layers_, n_layer_, base_.placement);
    }

private:
    std::size_t n_devices() const { return targets_.size(); }
    bool is_last(std::size_t device) const { return device + 1 == n_devices(); }

    Bytes measure(const PlacementRequest& placement) const {
        Deployment d = base_;
        d.placement = placement;
        Bytes bytes;
        for (const Projected& device : project_(d)) bytes.push_back(static_cast<std::int64_t>(device.sum));
        return bytes;
    }
    Bytes measure(const Layers& layers) const { return measure(placement_of(layers, n_layer_, base_.placement)); }

    /// Bytes that all devices together would have to spare with every expert on the host.
    std::int64_t spare_without_experts() const {
        PlacementRequest placement = base_.placement;
        for (std::uint32_t il = 0; il < n_layer_; ++il)
            placement.parts.push_back({il, LayerPart::experts, host_device});
        const Bytes bytes = measure(placement);
        std::int64_t spare = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) spare += targets_[i] - bytes[i];
        return spare;
    }

    /// How many of `delta` steps to take next: where the line through both ends meets the target of the device.
    std::uint32_t next_step(std::uint32_t delta, std::int64_t low, std::int64_t high, std::size_t device) const {
        std::int64_t step = delta - 1; // a device that takes no more for more layers
        if (high > low) step = static_cast<std::int64_t>(delta) * (targets_[device] - low) / (high - low);
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(step, 1, delta - 1));
    }

    void accept(Layers layers, Bytes bytes) {
        layers_ = std::move(layers);
        bytes_ = std::move(bytes);
    }

    // ---- Step 3 ----

    /// Gives a device as many of the layers that no later device has as it has room for, from the back of the model.
    void fill(std::size_t device) {
        std::uint32_t n_left = n_layer_ + 1;
        for (std::size_t later = device + 1; later < n_devices(); ++later) n_left -= layers_[later].n_layer;
        if (n_left == 0) return;
        Layers high = with_more(device, n_left); // the device has none so far
        Bytes at_high = measure(high);
        if (at_high[device] <= targets_[device]) return accept(std::move(high), std::move(at_high));
        while (high[device].n_layer - layers_[device].n_layer > 1) {
            const std::uint32_t delta = high[device].n_layer - layers_[device].n_layer;
            Layers middle = with_more(device, next_step(delta, bytes_[device], at_high[device], device));
            Bytes at_middle = measure(middle);
            if (at_middle[device] <= targets_[device]) {
                accept(std::move(middle), std::move(at_middle));
            } else {
                high = std::move(middle);
                at_high = std::move(at_middle);
            }
        }
    }

    /// `n` layers more on the device, without their experts. The output layer has none: it is the last device's first,
    /// and where that one has nothing else, one more layer is taken for it, as llama.cpp does.
    Layers with_more(std::size_t device, std::uint32_t n) const {
        Layers layers = layers_;
        const bool output = is_last(device) && layers[device].n_part == 0;
        layers[device].n_layer += n;
        if (experts_) layers[device].n_part += output ? n - 1 : n;
        return layers;
    }

    // ---- Step 4 ----

    void give_experts_back() {
        first_ = first_device_of_layers();
        for (std::size_t device = 0; first_ != none && first_ < n_devices() && device <= first_; ++device) {
            refill(device);
            take_part(device);
        }
    }

    /// The first of the devices at the end that all have layers.
    std::size_t first_device_of_layers() const {
        std::size_t first = none;
        for (std::size_t i = n_devices(); i-- > 0 && layers_[i].n_layer > 0;) first = i;
        return first;
    }

    /// Layers move to the device from the front of those without experts, and get these back.
    void refill(std::size_t device) {
        std::size_t first_high = n_devices() - 1;
        Layers high = all_on(device);
        Bytes at_high = measure(high);
        if (at_high[device] <= targets_[device]) {
            accept(std::move(high), std::move(at_high));
            first_ = first_high;
            return;
        }
        while (high[device].n_full() - layers_[device].n_full() > 1) {
            const std::uint32_t delta = high[device].n_full() - layers_[device].n_full();
            const std::uint32_t step = next_step(delta, bytes_[device], at_high[device], device);
            std::size_t first = first_;
            Layers middle = moved(device, step, first);
            if (middle == layers_) return; // no layer is left without its experts
            Bytes at_middle = measure(middle);
            if (at_middle[device] <= targets_[device]) {
                accept(std::move(middle), std::move(at_middle));
                first_ = first;
            } else {
                high = std::move(middle);
                at_high = std::move(at_middle);
            }
        }
    }

    /// Every layer without experts on the device; the last one keeps the output layer.
    Layers all_on(std::size_t device) const {
        Layers layers = layers_;
        for (std::size_t i = first_; i < n_devices(); ++i) {
            const std::uint32_t n_moved = is_last(i) ? layers[i].n_layer - 1 : layers[i].n_layer;
            layers[device].n_layer += n_moved;
            layers[i].n_layer -= n_moved;
            layers[i].n_part = 0;
        }
        return layers;
    }

    /// `n` layers of those without experts on the device, with them. `first`: the first device that then has such.
    Layers moved(std::size_t device, std::uint32_t n, std::size_t& first) const {
        Layers layers = layers_;
        for (; first < n_devices(); ++first) {
            const std::uint32_t n_moved = std::min(n, layers[first].n_part);
            layers[first].n_layer -= n_moved;
            layers[first].n_part -= n_moved;
            layers[device].n_layer += n_moved;
            n -= n_moved;
            if (layers[first].n_part > 0) break;
        }
        return layers;
    }

    /// A part of one layer more: its attention and router, or these and `ffn_up`, or these and `ffn_gate`. The rest
    /// goes to the next device, from the last one to the host.
    void take_part(std::size_t device) {
        if (first_ >= n_devices()) return;
        const DeviceLayers& from = layers_[first_];
        // llama.cpp counts below zero where no layer without experts is left; nothing comes of it.
        if (from.n_layer <= (is_last(device) ? 1 : 0) || from.n_part == 0) return;
        if (try_part(device, LayerPart::down_and_gate, true))
            try_part(device, LayerPart::down, false);
        else
            try_part(device, LayerPart::ffn, true);
    }

    bool try_part(std::size_t device, LayerPart part, bool another) {
        Layers layers = layers_;
        std::size_t first = first_;
        if (another) {
            --layers[first].n_layer;
            --layers[first].n_part;
            ++layers[device].n_layer;
            ++layers[device].n_part;
            if (layers[first].n_part == 0) ++first;
        }
        layers[device].first_part = part;
        if (!is_last(device)) layers[device].first_part_device = static_cast<std::int32_t>(device) + 1;
        Bytes bytes = measure(layers);
        const auto below = [&](std::size_t i) { return bytes[i] < targets_[i]; };
        if (!below(device) || (!is_last(device) && !below(device + 1))) return false;
        accept(std::move(layers), std::move(bytes));
        first_ = first;
        return true;
    }

    std::uint32_t n_layer_; ///< without the output layer
    bool experts_;
    const Deployment& base_;
    const Project& project_;
    Bytes targets_;            ///< what each device may take
    Layers layers_;            ///< the best so far
    Bytes bytes_;              ///< what it takes
    std::size_t first_ = none; ///< the first device with layers without experts
};

} // namespace

std::uint32_t countable_layers(const Model& model, const Settings& settings) {
    return settings.mtp ? model.n_block() : model.n_layer();
}

PlacementRequest placement_of(const std::vector<DeviceLayers>& layers, std::uint32_t n_countable,
                              const PlacementRequest& asked) {
    PlacementRequest placement = asked;
    placement.tensor_split.clear();
    placement.parts.clear();
    placement.n_gpu_layers = 0;
    for (const DeviceLayers& device : layers) {
        placement.n_gpu_layers += device.n_layer;
        placement.tensor_split.push_back(device.n_layer);
    }
    if (placement.n_gpu_layers == 0 || layers.size() == 1) placement.tensor_split.clear();
    auto il = static_cast<std::uint32_t>(std::int64_t{n_countable} + 1 - placement.n_gpu_layers);
    for (const DeviceLayers& device : layers) {
        il += device.n_full();
        for (std::uint32_t i = 0; i < device.n_part; ++i, ++il) {
            const PartOverride rest{il, LayerPart::experts, host_device};
            placement.parts.push_back(i > 0 ? rest : PartOverride{il, device.first_part, device.first_part_device});
        }
    }
    return placement;
}

PlacementRequest fit_layers(const Model& model, const Deployment& base, const FitLimits& limits,
                            const Project& project) {
    return LayerSearch(model, base, limits, project).run();
}

} // namespace vramfit
