#include "serving_deployment.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit {
namespace {

/// Settings of llama.cpp that its like alone have, under the names that vramfit has for them.
void check_settings(const RuntimeProfile& runtime, const Request& r) {
    const std::array<std::pair<bool, const char*>, 17> said{{
        {r.n_gpu_layers && *r.n_gpu_layers != gpu_layers_all && *r.n_gpu_layers != gpu_layers_auto, "--gpu-layers"},
        {r.n_cpu_moe > 0, "--n-cpu-moe"},
        {!r.override_tensors.empty(), "--override-tensor"},
        {!r.tensor_split.empty(), "--tensor-split"},
        {r.split_mode == SplitMode::none, "--split-mode none"},
        {r.main_gpu > 0, "--main-gpu"},
        {!r.kv_offload, "--no-kv-offload"},
        {!r.op_offload, "--no-op-offload"},
        {r.kv_unified.has_value(), "--kv-unified"},
        {r.swa_full, "--swa-full"},
        {r.embeddings, "--embeddings"},
        {r.mtp, "--mtp"},
        {r.projector.has_value(), "--mmproj"},
        {r.draft.has_value(), "--model-draft"},
        {!r.adapters.empty(), "--lora"},
        {r.flash_attn == FlashAttention::off, "--flash-attn off"},
        {r.n_ubatch.has_value(), "--ubatch-size"},
    }};
    for (const auto& [is_said, option] : said) {
        if (is_said) throw Error(std::string(option) + " is a setting of llama.cpp; " + runtime.id + " has none such");
    }
    if (r.memory_share && runtime.serving->budget == ServingProfile::Budget::all)
        throw Error(runtime.id + " takes whatever memory there is: it has no share of it to set");
}

bool is_gguf_type(const std::string& name) {
    try {
        parse_file_type(name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

const WeightFormat& format_of(const Model& model, const RuntimeProfile& runtime, const Request& request) {
    const ServingProfile& engine = *runtime.serving;
    const auto reads = [&](const WeightFormat& f) {
        return std::ranges::find(engine.formats, f.id) != engine.formats.end();
    };
    if (!request.quant) {
        const WeightFormat& published = published_format(model);
        return reads(published) ? published : find_weight_format(engine.formats.front());
    }
    const WeightFormat* named = weight_format_named(*request.quant);
    if (named == nullptr && is_gguf_type(*request.quant))
        throw Error(quote(*request.quant) + " is a file type of GGUF: " + engine.gguf + "; " +
                    enumerated(engine.formats) + " would be right");
    const WeightFormat& format = named != nullptr ? *named : find_weight_format(*request.quant);
    if (!reads(format))
        throw Error(runtime.id + " has no weights in " + format.id + "; " + enumerated(engine.formats) +
                    " would be right");
    if (format.scope == WeightFormat::Scope::experts && model.hparams.get("expert_count", 0) == 0)
        throw Error(format.id + " weights are those of experts, and " + quote(model.id) + " has none");
    return format;
}

void check_cache_type(const RuntimeProfile& runtime, std::optional<TensorType> type) {
    // Sixteen bits are what a cache has anyway.
    if (!type || *type == TensorType::f16 || *type == TensorType::bf16) return;
    std::vector<std::string> names;
    for (const CacheDtype& dtype : runtime.serving->dtypes) names.push_back(dtype.name);
    throw Error(runtime.id + " has no KV cache of type " + std::string(traits(*type).name) + "; " + enumerated(names) +
                " would be right");
}

} // namespace

const CacheDtype& cache_dtype_of(const RuntimeProfile& runtime, const Request& request) {
    const ServingProfile& engine = *runtime.serving;
    if (!request.cache_dtype) return engine.dtypes.front();
    if (const CacheDtype* dtype = engine.dtype(*request.cache_dtype)) return *dtype;
    std::vector<std::string> names;
    for (const CacheDtype& dtype : engine.dtypes) names.push_back(dtype.name);
    throw Error(runtime.id + " has no KV cache of type " + quote(*request.cache_dtype) + "; " + enumerated(names) +
                " would be right");
}

Deployment serving_deployment(const Model& model, const RuntimeProfile& runtime, const std::vector<Device>& devices,
                              const Request& request) {
    const ServingProfile& engine = *runtime.serving;
    check_settings(runtime, request);
    check_cache_type(runtime, request.type_k);
    check_cache_type(runtime, request.type_v);
    if (devices.size() > 1 && engine.parallel == ServingProfile::Parallel::none)
        throw Error(runtime.id + " runs on one device; give one --gpu");
    const ServingProfile::Tier& tier =
        engine.tier(devices.front().total, devices.front().name + devices.front().description);
    Deployment d;
    d.weight_format = format_of(model, runtime, request).id;
    d.cache_bytes = cache_dtype_of(runtime, request).element_bytes;
    d.settings.n_ctx = request.n_ctx.value_or(0);
    d.settings.n_batch = request.n_batch.value_or(tier.n_batch);
    d.settings.n_ubatch = d.settings.n_batch;
    d.settings.n_seq_max = request.parallel.value_or(tier.n_seqs);
    d.settings.kv_unified = true;
    d.settings.type_k = d.settings.type_v = d.cache_bytes == 1 ? TensorType::i8 : TensorType::bf16;
    d.placement.n_devices = static_cast<std::uint32_t>(devices.size());
    const bool stages = request.layers_parallel > 1U && request.tensor_parallel.value_or(1) == 1;
    d.placement.split_mode = stages ? SplitMode::layer : request.split_mode.value_or(SplitMode::row);
    return d;
}

} // namespace vramfit
