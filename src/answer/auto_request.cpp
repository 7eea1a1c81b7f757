#include "auto_request.hpp"

#include "auto_fit.hpp"
#include "overrides.hpp"

#include "vramfit/base/bytes.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit {
namespace {

// More than any device has; sums and products of such sizes stay within 64 bits.
constexpr std::uint64_t most_bytes = 512 * tib;

std::string number(std::uint64_t n) { return std::to_string(n); }

/// "[3-7]", or the digit alone.
std::string digits(std::uint32_t from, std::uint32_t to) {
    return from == to ? number(from) : "[" + number(from) + "-" + number(to) + "]";
}

/// A regular expression for numbers that rise: "(8|9|1[0-5])", decade by decade.
std::string any_of_numbers(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1 && numbers[end] / 10 == numbers[i] / 10)
            ++end;
        const std::uint32_t decade = numbers[i] / 10;
        text += (text.empty() ? "" : "|") + (decade == 0 ? "" : number(decade)) +
                digits(numbers[i] % 10, numbers[end - 1] % 10);
        i = end;
    }
    return text.find('|') == std::string::npos ? text : "(" + text + ")";
}

/// What follows "blk.N." in the names of a part (common/fit.cpp).
std::string names_of(LayerPart part) {
    switch (part) {
    case LayerPart::ffn: return "ffn_(gate|up|gate_up|down).*";
    case LayerPart::down_and_gate: return "ffn_(gate|gate_up|down).*";
    case LayerPart::down: return "ffn_down.*";
    case LayerPart::experts: break;
    }
    return "ffn_(up|down|gate_up|gate)_(ch|)exps";
}

/// Notes of what was chosen.
std::vector<std::string> notes_of(const AutoFit& fit, const Request& asked, const Model& model, std::uint64_t margin) {
    std::vector<std::string> notes;
    const std::string kept = format_bytes(margin) + " of each GPU free";
    const bool one = fit.deployment.placement.n_devices == 1;
    if (!asked.n_ctx)
        notes.push_back(fit.context_reduced
                            ? "no context was given: llama.cpp's --fit reduces it to " +
                                  number(fit.deployment.settings.n_ctx)
                            : "no context was given: llama.cpp takes all that the model was trained for");
    if (fit.gives_up) {
        notes.push_back("llama.cpp's --fit moves no layers: " + *fit.gives_up);
        return notes;
    }
    const std::string layers = fit.placed ? number(static_cast<std::uint64_t>(fit.deployment.placement.n_gpu_layers)) +
                                                " of " + number(std::uint64_t{model.n_block()} + 1) +
                                                " layers on the GPU" + (one ? "" : "s")
                                          : "all layers on the GPU" + std::string(one ? "" : "s");
    const std::size_t n_parts = fit.deployment.placement.parts.size();
    const std::string parts = n_parts == 0 ? "" : ", " + number(n_parts) + " of them with experts elsewhere";
    notes.push_back("placed as llama.cpp's --fit does, which keeps " + kept + ": " + layers + parts);
    const std::int64_t n_counted = std::int64_t{model.n_layer()} + 1;
    if (fit.placed && !asked.mtp && model.n_block() > model.n_layer() &&
        fit.deployment.placement.n_gpu_layers == n_counted)
        notes.emplace_back(
            "--fit does not count a MTP block that is not used, so that the model's first layer stays on "
            "the CPU; more layers take it along, where there is room");
    return notes;
}

/// What --fit answers where the user said where layers go.
std::optional<std::string> placement_given(const Request& request, std::size_t n_devices) {
    if (n_devices > 1 && !request.tensor_split.empty()) return "--tensor-split says where they go";
    if (n_devices > 1 && request.split_mode == SplitMode::row) return "it cannot with --split-mode row";
    if (request.n_cpu_moe > 0) return "--n-cpu-moe says where experts go";
    if (!request.override_tensors.empty()) return "--override-tensor says where tensors go";
    return std::nullopt;
}

/// Of those devices. A projector is part of the margin that --fit keeps, and a draft model is planned with the model;
/// adapters it does not know.
std::vector<Projected> projected(Judge& judge, const Request& request, Deployment d,
                                 const std::vector<std::size_t>& devices) {
    d.placement.no_alloc = true;
    MemoryEstimate estimate = judge.estimator().estimate(d);
    judge.companions().add(request, d, estimate);
    std::vector<Projected> projected;
    for (const std::size_t i : devices) {
        const DeviceMemory& m = estimate.devices[i];
        const Projected part{std::min(m.weights, most_bytes), std::min(m.sum() - m.adapters, most_bytes)};
        projected.push_back(part);
    }
    return projected;
}

/// The devices that a model may lie on: of a mode without splits the main one.
std::vector<std::size_t> devices_in_use(const Deployment& d) {
    if (d.placement.split_mode == SplitMode::none && d.placement.n_devices > 1) return {d.placement.main_device};
    std::vector<std::size_t> devices(d.placement.n_devices);
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = i;
    return devices;
}

} // namespace

std::vector<std::string> override_texts(const std::vector<PartOverride>& parts, std::uint32_t n_block,
                                        const std::vector<std::string>& buffers) {
    std::vector<std::string> texts;
    std::vector<std::uint32_t> experts;
    const auto add = [&](const std::string& layers, LayerPart part, std::int32_t device) {
        const std::string buffer = device == host_device ? "CPU" : buffers.at(static_cast<std::size_t>(device));
        texts.push_back("blk\\." + layers + "\\." + names_of(part) + "=" + buffer);
    };
    for (const PartOverride& part : parts) {
        if (part.layer >= n_block) continue; // the output layer, which has no such tensors
        if (part.part == LayerPart::experts && part.device == host_device)
            experts.push_back(part.layer);
        else
            add(number(part.layer), part.part, part.device);
    }
    if (!experts.empty()) add(any_of_numbers(experts), LayerPart::experts, host_device);
    return texts;
}

namespace {

/// Builds from before --fit: all layers or none. Metal has had all of them from the start (llama.cpp,
/// llama_model_default_params).
AutoRequest default_layers(const Judge& judge, const Request& asked) {
    const bool metal =
        std::ranges::all_of(judge.devices(), [](const Device& d) { return d.kind == Device::Kind::metal; });
    const bool all = judge.runtime().layers_by_default || metal;
    AutoRequest result{asked, {}};
    result.request.n_gpu_layers = all ? gpu_layers_all : 0;
    result.notes.push_back(judge.runtime().name + " " + judge.runtime().version +
                           " does not place layers by itself: without --gpu-layers it puts " + (all ? "all" : "none") +
                           " on the GPU");
    return result;
}

} // namespace

AutoRequest resolve_auto(Judge& judge, const Request& asked) {
    if (!judge.runtime().has_fit) return default_layers(judge, asked);
    AutoRequest result{asked, {}};
    Request& request = result.request;
    request.n_gpu_layers = gpu_layers_all;
    const Deployment deployment = judge.deployment(request);
    const std::vector<std::size_t> devices = devices_in_use(deployment);

    FitLimits limits;
    for (const std::size_t i : devices) {
        const DeviceAnswer& device = judge.empty_devices()[i];
        limits.free.push_back(device.available - std::min(device.available, device.overhead));
        limits.margins.push_back(std::min(judge.margin(), most_bytes));
    }
    limits.least_ctx = asked.least_ctx.value_or(judge.runtime().least_ctx);
    limits.placement_given = placement_given(request, devices.size());
    const Project project = [&](const Deployment& d) { return projected(judge, request, d, devices); };
    const AutoFit fit = auto_fit(judge.model(), deployment, asked.n_ctx.has_value(), limits, project);

    request.n_ctx = fit.deployment.settings.n_ctx;
    if (fit.placed) {
        const PlacementRequest& placement = fit.deployment.placement;
        request.n_gpu_layers = placement.n_gpu_layers;
        request.tensor_split = placement.tensor_split;
        std::vector<std::string> buffers;
        for (std::size_t i = 0; i < judge.devices().size(); ++i)
            buffers.push_back(buffer_name(judge.devices(), i, judge.runtime()));
        request.override_tensors = override_texts(placement.parts, judge.model().n_block(), buffers);
    }
    result.notes = notes_of(fit, asked, judge.model(), judge.margin());
    return result;
}

} // namespace vramfit
