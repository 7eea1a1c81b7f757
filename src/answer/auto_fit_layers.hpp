#pragma once

#include "auto_fit.hpp"

namespace vramfit {

/// The layers of a device as `--fit` counts them (common/fit.cpp): `n_layer` in all, the last `n_part` of them with a
/// part elsewhere. The output layer counts as one.
struct DeviceLayers {
    std::uint32_t n_layer = 0;
    std::uint32_t n_part = 0;
    LayerPart first_part = LayerPart::experts; ///< of the first layer with a part elsewhere; of the others the experts
    std::int32_t first_part_device = host_device; ///< where it lies

    std::uint32_t n_full() const { return n_layer - n_part; }
    bool operator==(const DeviceLayers&) const = default;
};

/// Layers that `--fit` counts, without the output layer: MTP blocks only where they are loaded.
std::uint32_t countable_layers(const Model& model, const Settings& settings);

/// The placement with those layers on the devices, the first layers of the model on the host.
PlacementRequest placement_of(const std::vector<DeviceLayers>& layers, std::uint32_t n_countable,
                              const PlacementRequest& asked);

/// Steps 3 and 4 of `--fit`: gives the devices of `base` as many layers as leave their margins.
PlacementRequest fit_layers(const Model& model, const Deployment& base, const FitLimits& limits,
                            const Project& project);

} // namespace vramfit
