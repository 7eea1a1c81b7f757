#include "vramfit/memory/placement.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/model/architecture.hpp"

#include <algorithm>
#include <numeric>
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

/// The routed experts, which `--n-cpu-moe` keeps on the host (common/common.h, its regular expression).
bool is_expert(std::string_view name) {
    for (const std::string_view prefix : {"ffn_up", "ffn_down", "ffn_gate_up", "ffn_gate"}) {
        if (!name.starts_with(prefix)) continue;
        const std::string_view rest = name.substr(prefix.size());
        if (rest.starts_with("_exps") || rest.starts_with("_chexps")) return true;
    }
    return false;
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

} // namespace

Placement place(const Model& model, const PlacementRequest& request, bool mtp) {
    Placement placement;
    placement.n_devices = request.n_devices;
    placement.overridden = request.n_cpu_moe > 0;
    placement.layer_device = place_layers(model.n_block(), request);
    placement.all_offloaded = std::ranges::find(placement.layer_device, host_device) == placement.layer_device.end();

    std::vector<bool> expert(model.tensor_names.size());
    for (std::size_t i = 0; i < expert.size(); ++i) expert[i] = is_expert(model.tensor_names[i]);

    const auto n_layer = static_cast<std::int32_t>(model.n_layer());
    placement.tensor_device.reserve(model.tensors.size());
    placement.loaded.reserve(model.tensors.size());
    for (const Tensor& tensor : model.tensors) {
        std::int32_t device = host_device;
        switch (tensor.section) {
        case TensorSection::input: break;
        case TensorSection::first:
        case TensorSection::each: device = placement.layer_device.front(); break;
        case TensorSection::output: device = placement.output_device(); break;
        case TensorSection::layer:
            device = placement.layer_device[static_cast<std::size_t>(tensor.layer)];
            if (expert[tensor.name] && static_cast<std::uint32_t>(tensor.layer) < request.n_cpu_moe)
                device = host_device;
            break;
        }
        placement.tensor_device.push_back(device);
        placement.loaded.push_back(is_loaded(tensor, n_layer, mtp));
    }
    placement.tied_output = tied_output(model);
    return placement;
}

} // namespace vramfit
