#pragma once

#include "vramfit/memory/estimate.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// What a deployment takes on a device, in bytes.
struct Projected {
    std::uint64_t weights = 0; ///< part of `sum`
    std::uint64_t sum = 0;
};

/// By device, as llama.cpp plans the deployment without allocating it.
using Project = std::function<std::vector<Projected>(const Deployment&)>;

/// What `--fit` is given.
struct FitLimits {
    std::vector<std::uint64_t> free;    ///< by device, before anything is loaded
    std::vector<std::uint64_t> margins; ///< by device: bytes that are to stay free
    std::uint64_t least_ctx = 4096;     ///< tokens a stream; fewer are not tried
    /// Why the placement must stay as it is (the user said where layers go), or nothing.
    std::optional<std::string> placement_given;
};

/// Where `--fit` ends.
struct AutoFit {
    Deployment deployment;               ///< with a context, and with layers and parts where they were changed
    bool context_reduced = false;        ///< below what the model was trained for
    bool placed = false;                 ///< it chose the layers of every device
    std::optional<std::string> gives_up; ///< why it leaves a deployment that does not fit
};

/// Searches as llama.cpp's `--fit` does (common/fit.cpp), and ends in the same deployment. `asked`: with all layers on
/// the devices; a context of 0 tokens is one that nobody gave, unless `fixed_ctx`.
///
/// 1. What leaves every device its margin stays as it is.
/// 2. A context that nobody gave shrinks by as much as the devices miss together. One device is then done.
/// 3. Layers are given to the devices, the last device first: as many as leave it its margin, from the back of the
///    model. Of a model with experts these stay on the host.
/// 4. Where experts stayed on the host, and there is room: layers get theirs back, from the front of the model, the
///    first device first; then each device takes a part of one layer more.
AutoFit auto_fit(const Model& model, const Deployment& asked, bool fixed_ctx, const FitLimits& limits,
                 const Project& project);

} // namespace vramfit
