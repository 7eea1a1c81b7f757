#include "request_of.hpp"

#include "engine_figures.hpp"
#include "log_text.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::string size_spec(std::uint64_t bytes) { return std::to_string(bytes / mib) + "MiB"; }

template <typename T>
void fill(std::optional<T>& asked, const OptionalLogged& logged) {
    if (!asked && logged && logged->value > 0) asked = static_cast<T>(logged->value);
}

std::string text_of(const Load& load, std::string_view key, std::string_view option) {
    if (const auto found = load.texts.find(key); found != load.texts.end()) return found->second;
    return option_text(load, option);
}

void fill_types(Request& request, const Load& load) {
    if (!request.type_k) request.type_k = parse_tensor_type(text_of(load, "cache_type_k", "cache-type-k"));
    if (!request.type_v) request.type_v = parse_tensor_type(text_of(load, "cache_type_v", "cache-type-v"));
    const std::string flash = text_of(load, "flash_attn", "flash-attn");
    if (!request.flash_attn && (flash == "0" || flash == "disabled" || flash == "off"))
        request.flash_attn = FlashAttention::off;
}

/// llama.cpp asks what is free once the driver and its own context have their share: what the estimator counts for them
/// comes on top.
std::uint64_t with_overhead(std::uint64_t free, bool context_alone) {
    Device device;
    device.total = free;
    if (context_alone) device.free = free;
    return free + overhead_of(device).sum();
}

/// The catalog's cards that the log names, where it does not tell how much memory they have.
void fill_named_devices(Request& request, const Load& load) {
    std::vector<std::string> names;
    for (const LogDevice& device : load.devices) names.push_back(device.description);
    if (names.empty() && !load.gpu.empty()) names.push_back(load.gpu);
    if (names.size() > max_devices) return;
    std::vector<std::string> ids;
    for (const std::string& name : names) {
        const std::vector<GpuInfo> known = match_gpus(name);
        const bool alike = std::ranges::all_of(known, [&](const GpuInfo& gpu) {
            return gpu.nominal == known.front().nominal;
        }); // "rtx4070", "rtx4070-gddr6"
        if (known.empty() || !alike) return;
        ids.push_back(known.front().id);
    }
    request.gpus = std::move(ids);
}

/// The devices that the model was put on; with none known, none.
void fill_devices(Request& request, const Load& load) {
    if (!request.gpus.empty()) return;
    std::vector<const LogDevice*> used;
    for (const LogDevice& device : load.devices) {
        if (device.free || device.total) used.push_back(&device);
    }
    if (used.size() > max_devices) return;
    if (used.empty()) {
        auto total = load.number("gpu_total");
        auto free = load.number("gpu_free");
        if (!total) total = free;
        if (!total) return fill_named_devices(request, load);
        request.gpus.push_back(size_spec(total->value));
        if (free && !request.free) request.free = std::min(free->value, total->value);
        return;
    }
    const LogDevice& first = *used.front();
    const bool alike = std::ranges::all_of(used, [&](const LogDevice* device) {
        return device->free && first.free && device->free->value == first.free->value;
    });
    for (const LogDevice* device : used) {
        const bool total = alike || !device->free;
        request.gpus.push_back(
            size_spec(total && device->total ? device->total->value : with_overhead(device->free->value, false)));
        if (used.size() > 1 && device->free) // llama.cpp's own split
            request.tensor_split.push_back(static_cast<double>(device->free->value >> 20U));
    }
    if (request.tensor_split.size() != used.size()) request.tensor_split.clear();
    if (!alike || request.free) return;
    const std::uint64_t free = with_overhead(first.free->value, true);
    request.free = first.total ? std::min(free, first.total->value) : free; // else the devices are given as larger ones
}

/// The context's settings that old versions do not print are theirs, not today's.
void fill_old_defaults(Request& request, const Load& load) {
    if (!load.texts.contains("flash_attn")) return;
    if (!request.parallel) request.parallel = 1;                                              // until late 2024
    if (!request.kv_unified && !load.texts.contains("kv_unified")) request.kv_unified = true; // until mid 2025
    if (load.number("kv_self")) request.swa_full = true; // windows had no cache of their own until May 2025
}

void fill_runtime(Request& request, const Load& load, const Diagnosis& diagnosis) {
    const OptionalLogged outputs = load.number("n_outputs_max");
    const LogFigure* slots = diagnosis.figure("n_parallel");
    const bool library = outputs && slots != nullptr && outputs->value > slots->value;
    if (library || reserves_all_outputs(load)) request.runtime = "llama-cli";
}

void fill_placement(Request& request, const Load& load) {
    const auto layers = load.number("gpu_layers"), of = load.number("gpu_layers_of");
    if (!request.n_gpu_layers && layers && of && layers->value < of->value && of->value < 10000)
        request.n_gpu_layers = static_cast<std::int64_t>(layers->value);
    if (const auto experts = option_number(load, "n-cpu-moe");
        experts && request.n_cpu_moe == 0 && experts->value < 10000)
        request.n_cpu_moe = static_cast<std::uint32_t>(experts->value);
    if (option_text(load, "cpu-moe") == "on") request.n_cpu_moe = UINT32_MAX;
    if (option_text(load, "kv-offload") == "off") request.kv_offload = false;
    if (const auto overrides = load.options.find("override-tensor"); overrides != load.options.end())
        request.override_tensors.push_back(overrides->second);
    if (load.number("overflowing")) { // llama.cpp's own --fit moved parts of layers
        request.n_gpu_layers = gpu_layers_auto;
        request.tensor_split.clear();
    }
}

/// What the log of an engine that reads checkpoints shows: its other settings are not those of llama.cpp.
Request engine_request(std::string_view engine, const Load& load, const Diagnosis& diagnosis, const Request& hints) {
    Request request = hints;
    request.runtime = engine;
    if (!request.quant && !diagnosis.quant.empty()) request.quant = diagnosis.quant;
    if (const LogFigure* n_ctx = diagnosis.figure("n_ctx"))
        fill(request.n_ctx, OptionalLogged({n_ctx->value, n_ctx->line}));
    fill_devices(request, load);
    const OptionalLogged n_gpus = load.number("n_gpus");
    if (hints.gpus.empty() && request.gpus.size() == 1 && n_gpus && n_gpus->value > 1 && n_gpus->value <= max_devices)
        request.gpus.assign(n_gpus->value, std::string(request.gpus.front()));
    if (!request.memory_share) request.memory_share = said_share(diagnosis);
    return request;
}

} // namespace

bool reserves_all_outputs(const Load& load) {
    return load.texts.contains("flash_attn") && !load.number("n_outputs_max");
}

Request request_of(const Load& load, const Diagnosis& diagnosis, const Request& hints, const Subject& subject) {
    Request request = hints;
    if (const std::string_view engine = engine_of(diagnosis); !engine.empty())
        request = engine_request(engine, load, diagnosis, hints);
    request.model = subject.id.empty() ? subject.shape_of : subject.id;
    if (!engine_of(diagnosis).empty()) return request;
    if (!request.quant && !diagnosis.quant.empty()) request.quant = diagnosis.quant;
    const auto figure = [&](std::string_view name) {
        const LogFigure* found = diagnosis.figure(name);
        return found == nullptr ? std::nullopt : OptionalLogged({found->value, found->line});
    };
    fill(request.n_ctx, figure("n_ctx"));
    fill(request.parallel, figure("n_parallel"));
    fill(request.n_batch, load.number("n_batch"));
    fill(request.n_ubatch, load.number("n_ubatch"));
    fill_runtime(request, load, diagnosis);
    const std::string unified = text_of(load, "kv_unified", "kv-unified");
    if (!request.kv_unified && !unified.empty())
        request.kv_unified = unified == "true" || unified == "1" || unified == "on";
    if (!diagnosis.build.empty() && !request.runtime_version) request.runtime_version = diagnosis.build;
    fill_types(request, load);
    fill_old_defaults(request, load);
    if (option_text(load, "swa-full") == "on" || load.number("swa_full")) request.swa_full = true;
    if (load.has_keys && !load.imatrix) request.imatrix = false;
    fill_devices(request, load);
    fill_placement(request, load);
    if (!request.n_ctx) request.n_ctx = subject.request.n_ctx;
    request.projector = subject.request.projector;
    request.adapters = subject.request.adapters;
    return request;
}

} // namespace vramfit
