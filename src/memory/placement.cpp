#include "vramfit/memory/placement.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/model/architecture.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace vramfit {
namespace {

/// Upper ends of the devices' shares of 1 (llama-model.cpp: cumulated and normalised splits).
std::vector<double> cumulated_shares(const PlacementRequest& request) {
    std::vector<double> shares = request.tensor_split;
    if (shares.empty()) shares.assign(request.n_devices, 1.0);
    if (shares.size() > request.n_devices)
        throw Error("the tensor split has " + std::to_string(shares.size()) + " shares for " +
                    std::to_string(request.n_devices) + " devices");
    shares.resize(request.n_devices, 0.0);
    std::partial_sum(shares.begin(), shares.end(), shares.begin());
    if (!(shares.back() > 0)) throw Error("the tensor split gives no device a share");
    for (double& share : shares) share /= shares.back();
    return shares;
}

std::vector<std::int32_t> place_layers(std::uint32_t n_block, const PlacementRequest& request) {
    const std::int64_t n_items = std::int64_t{n_block} + 1; // the output layer counts as one
    const std::int64_t n_asked = request.n_gpu_layers < 0 ? n_items : std::min(request.n_gpu_layers, n_items);
    const std::int64_t n_offloaded = request.n_devices == 0 ? 0 : n_asked;
    const std::int64_t start = n_items - n_offloaded;
    std::vector<std::int32_t> device(static_cast<std::size_t>(n_items), host_device);
    if (n_offloaded == 0) return device;
    const std::vector<double> shares = cumulated_shares(request);
    for (std::int64_t i = start; i < n_items; ++i) {
        const float position =
            static_cast<float>(i - start) / static_cast<float>(n_offloaded); // llama.cpp divides floats
        const auto over =
            std::ranges::find_if(shares, [&](double share) { return static_cast<float>(share) > position; });
        device[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(
            std::min<std::ptrdiff_t>(over - shares.begin(), static_cast<std::ptrdiff_t>(request.n_devices) - 1));
    }
    return device;
}

/// The request with the devices that are used. With SplitMode::none the main one alone is (llama.cpp,
/// `llama_model_load_from_file_impl`): it becomes device 0.
PlacementRequest used_devices(PlacementRequest r) {
    for (const TensorOverride& o : r.overrides) {
        if (o.device < host_device || o.device >= static_cast<std::int32_t>(r.n_devices))
            throw Error("an override names device " + std::to_string(o.device) + " of " + std::to_string(r.n_devices));
    }
    if (r.split_mode != SplitMode::none || r.n_devices == 0) return r;
    if (r.main_device >= r.n_devices)
        throw Error("the main device is " + std::to_string(r.main_device) + ", but there are " +
                    std::to_string(r.n_devices) + ", counted from 0");
    for (TensorOverride& o : r.overrides) {
        if (o.device == host_device) continue;
        if (o.device != static_cast<std::int32_t>(r.main_device))
            throw Error("an override names device " + std::to_string(o.device) +
                        ", but without a split the main device " + std::to_string(r.main_device) + " alone is used");
        o.device = 0;
    }
    r.n_devices = 1;
    r.tensor_split.clear();
    return r;
}

/// The routed experts, which `--n-cpu-moe` keeps on the host (common/common.h, its regular expression).
bool is_expert(std::string_view name) {
    for (const std::string_view prefix : {"ffn_up", "ffn_down", "ffn_gate_up", "ffn_gate"}) {
        if (!name.starts_with(prefix)) continue;
        const std::string_view rest = name.substr(prefix.size());
        if (rest.starts_with("_exps") || rest.starts_with("_chexps")) return true;
    }
    return false;
}

bool is_in(LayerPart part, std::string_view name) {
    switch (part) {
    case LayerPart::experts: return is_expert(name);
    case LayerPart::ffn:
        if (name.starts_with("ffn_up")) return true;
        [[fallthrough]];
    case LayerPart::down_and_gate:
        if (name.starts_with("ffn_gate")) return true;
        [[fallthrough]];
    case LayerPart::down: break;
    }
    return name.starts_with("ffn_down");
}

bool is_loaded(const Tensor& tensor, std::int32_t n_layer, bool mtp) {
    if (tensor.layer < n_layer || tensor.mtp_loading == MtpLoading::always) return true;
    return mtp && tensor.mtp_loading == MtpLoading::with_mtp;
}

/// A model whose architecture wants an output matrix, and whose file has none, uses the token embedding: llama.cpp
/// loads it a second time, where the output layer lies.
std::int32_t tied_output(const Model& model) {
    std::int32_t embedding = -1;
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const std::string_view name = model.name_of(model.tensors[i]);
        if (name == "output.weight") return -1;
        if (name == "token_embd.weight") embedding = static_cast<std::int32_t>(i);
    }
    const auto output = model.architecture->tensors.find("output.weight");
    const bool wanted = output && model.architecture->canonical[*output] >= 0;
    return wanted ? embedding : -1;
}

/// What the overrides say of a tensor: the first one whose pattern matches decides.
class Overrides {
public:
    Overrides(const PlacementRequest& request, TensorPatterns& patterns) : request_(request) {
        for (const TensorOverride& o : request.overrides)
            matches_.push_back(&patterns.matches(o.pattern)); // stays where it is
    }

    bool empty() const { return matches_.empty(); }

    std::optional<std::int32_t> device_of(std::size_t tensor) const {
        for (std::size_t i = 0; i < matches_.size(); ++i) {
            if ((*matches_[i])[tensor]) return request_.overrides[i].device;
        }
        return std::nullopt;
    }

private:
    const PlacementRequest& request_;
    std::vector<const std::vector<bool>*> matches_;
};

std::int32_t device_by_section(const Tensor& tensor, const Placement& placement) {
    switch (tensor.section) {
    case TensorSection::input: break;
    case TensorSection::first:
    case TensorSection::each: return placement.layer_device.front();
    case TensorSection::output: return placement.output_device();
    case TensorSection::layer: return placement.layer_device[static_cast<std::size_t>(tensor.layer)];
    }
    return host_device;
}

void place_tensors(const Model& model, const PlacementRequest& request, TensorPatterns& patterns,
                   Placement& placement) {
    const Overrides overrides(request, patterns);
    std::vector<bool> expert(model.tensor_names.size());
    for (std::size_t i = 0; i < expert.size(); ++i) expert[i] = is_expert(model.tensor_names[i]);
    std::vector<const PartOverride*> part_of(placement.layer_device.size());
    for (const PartOverride& part : request.parts) part_of.at(part.layer) = &part;
    placement.tensor_device.reserve(model.tensors.size());
    if (!overrides.empty()) placement.pinned.resize(model.tensors.size());
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        const Tensor& tensor = model.tensors[i];
        const bool on_cpu = tensor.section == TensorSection::layer && expert[tensor.name] &&
                            static_cast<std::uint32_t>(tensor.layer) < request.n_cpu_moe;
        std::int32_t device = on_cpu ? host_device : device_by_section(tensor, placement);
        if (tensor.section == TensorSection::layer) {
            const PartOverride* part = part_of[static_cast<std::size_t>(tensor.layer)];
            if (part != nullptr && is_in(part->part, model.tensor_names[tensor.name])) device = part->device;
        }
        if (const auto asked = overrides.device_of(i)) {
            device = *asked;
            placement.pinned[i] = true;
        }
        placement.tensor_device.push_back(device);
    }
}

} // namespace

std::int32_t requested_device(const PlacementRequest& request, std::int32_t device) {
    const bool main = request.split_mode == SplitMode::none && device != host_device;
    return main ? static_cast<std::int32_t>(request.main_device) : device;
}

Placement place(const Model& model, const PlacementRequest& request, bool mtp, TensorPatterns& patterns) {
    const PlacementRequest used = used_devices(request);
    Placement placement;
    placement.n_devices = used.n_devices;
    placement.overridden = used.n_cpu_moe > 0 || !used.overrides.empty() || !used.parts.empty();
    placement.no_alloc = used.no_alloc;
    placement.layer_device = place_layers(model.n_block(), used);
    placement.all_offloaded = std::ranges::find(placement.layer_device, host_device) == placement.layer_device.end();
    place_tensors(model, used, patterns, placement);
    if (used.split_mode == SplitMode::row && used.n_devices > 1) placement.row_ends = cumulated_shares(used);

    const auto n_layer = static_cast<std::int32_t>(model.n_layer());
    placement.loaded.reserve(model.tensors.size());
    for (const Tensor& tensor : model.tensors) placement.loaded.push_back(is_loaded(tensor, n_layer, mtp));

    placement.tied_output = tied_output(model);
    placement.tied_device = placement.output_device();
    // Both have the name of the embedding: what matches one matches the other.
    const auto tied = static_cast<std::size_t>(placement.tied_output);
    if (placement.tied_output >= 0 && !placement.pinned.empty() && placement.pinned[tied])
        placement.tied_device = placement.tensor_device[tied];
    return placement;
}

Placement place(const Model& model, const PlacementRequest& request, bool mtp) {
    TensorPatterns patterns(model);
    return place(model, request, mtp, patterns);
}

} // namespace vramfit
