#include "vramfit/memory/serving.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace vramfit {
namespace {

using Kind = LayerCache::Kind;

constexpr std::uint64_t half_bytes = 2;  // of a 16-bit float: activations, convolution states, rope tables
constexpr std::uint64_t state_bytes = 4; // recurrent states are kept in 32 bits (mamba_ssm_dtype of published configs)
constexpr std::uint64_t long_context = std::uint64_t{1} << 20; // whose caches tell how they grow
constexpr std::uint64_t in_forward_ffn = 3,
                        in_forward_embd = 4; // rows alive at once: gate, up, product; residual, q, k, v

std::uint64_t share_of(std::uint64_t bytes, double share) {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * share));
}

std::uint64_t added(std::uint64_t a, std::uint64_t b) { return checked_add(a, b, "the memory of a device"); }

/// Whole layers for each device; those in the middle take what is left over (vLLM, get_pp_indices).
std::vector<std::uint32_t> layers_by_device(std::uint32_t n_layer, std::uint32_t n_devices) {
    std::vector<std::uint32_t> counts(n_devices, n_layer / n_devices);
    for (std::uint32_t i = 0; i < n_layer % n_devices; ++i) ++counts[n_devices - 1 - (i + 1) % n_devices];
    return counts;
}

} // namespace

ServingEstimator::ServingEstimator(const Model& model, const ServingProfile& profile)
    : model_(model),
      profile_(profile) {
    read_layers();
}

/// Which layers keep what is the architecture's to say, in the caches that llama.cpp has for it.
void ServingEstimator::read_layers() {
    Evaluator e(model_);
    Settings settings;
    settings.n_ctx = long_context;
    settings.kv_unified = true;
    const ContextPlan context = plan_context(settings, 0);
    set_context(e, settings, context);
    const Placement placement = place(model_, PlacementRequest{}, false);
    for (const Cache& cache : plan_caches(e, settings, context, placement, false)) {
        for (const CacheLayer& kept : cache.layers) {
            if (kept.il >= static_cast<std::int32_t>(model_.n_layer())) continue;
            e.enter_layer(kept.il);
            Layer layer;
            if (cache.recurrent) {
                layer.kind = Kind::state;
                layer.conv = kept.r_bytes / sizeof(float);
                layer.state = kept.s_bytes / sizeof(float);
            } else {
                if (cache.kind == "swa") {
                    layer.kind = Kind::window;
                    layer.window = to_count(e.value_or("n_swa", 0), "n_swa");
                }
                layer.width = added(kept.k_width, kept.v_own);
                if (layer.kind == Kind::full && cache.cells < context.n_ctx_seq) // compressed: a row for many tokens
                    layer.width = layer.width * cache.cells / context.n_ctx_seq;
                layer.n_heads = kept.v_own > 0 ? to_count(e.value_or("n_head_kv", 0), "n_head_kv") : 0;
            }
            layers_[static_cast<std::uint32_t>(kept.il)].push_back(layer);
        }
    }
    const auto count = [&](std::string_view key, double otherwise, std::size_t il = 0) {
        return to_count(model_.hparams.get(key, otherwise, il), key);
    };
    n_embd_ = count("embedding_length", 0);
    n_vocab_ = count("vocab_size", 0);
    for (std::uint32_t il = 0; il < model_.n_layer(); ++il) {
        const std::uint64_t expert = count("expert_feed_forward_length", 0, il);
        const std::uint64_t experts = checked_mul(expert, count("expert_used_count", 0), "experts");
        n_ff_ = std::max({n_ff_, count("feed_forward_length", 0, il), experts});
        n_head_ = std::max(n_head_, count("attention.head_count", 0, il));
    }
    const std::uint64_t head = n_head_ == 0 ? 0 : n_embd_ / n_head_;
    n_rot_ = count("rope.dimension_count", model_.hparams.get("attention.key_length", static_cast<double>(head)));
}

bool ServingEstimator::by_layers(const Deployment& d) const {
    return profile_.parallel != ServingProfile::Parallel::tensor || d.placement.split_mode == SplitMode::layer;
}

/// The first layer on a device, and the one behind the last.
std::pair<std::uint32_t, std::uint32_t> ServingEstimator::layers_on(const Deployment& d, std::uint32_t device) const {
    if (!by_layers(d)) return {0, model_.n_layer()};
    const std::vector<std::uint32_t> counts = layers_by_device(model_.n_layer(), d.placement.n_devices);
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < device; ++i) first += counts[i];
    return {first, first + counts[device]};
}

std::vector<LayerCache> ServingEstimator::layer_caches(const Deployment& d, std::uint32_t device) const {
    const std::uint64_t n_ranks = by_layers(d) ? 1 : d.placement.n_devices;
    const auto [first, end] = layers_on(d, device);
    std::vector<LayerCache> caches;
    for (const auto& [il, kept] : layers_) {
        if (il < first || il >= end) continue;
        for (const Layer& layer : kept) {
            LayerCache& cache = caches.emplace_back();
            cache.kind = layer.kind;
            cache.window = layer.window;
            if (layer.kind == Kind::state) {
                const std::uint64_t bytes = added(layer.conv * half_bytes, layer.state * state_bytes);
                cache.state_bytes = bytes / n_ranks;
                continue;
            }
            std::uint64_t width = layer.width;
            if (n_ranks > 1 && layer.n_heads > 0) // a head at least, as some of them keep the same
                width = width / layer.n_heads * std::max<std::uint64_t>(1, layer.n_heads / n_ranks);
            cache.token_bytes = checked_mul(width, d.cache_bytes, "a KV cache");
        }
    }
    return caches;
}

ServingCache ServingEstimator::cache(const Deployment& d, std::uint32_t device) const {
    return {profile_.cache, layer_caches(d, device)};
}

std::uint64_t ServingEstimator::weights_on(const Deployment& d, const WeightFormat& format,
                                           std::uint32_t device) const {
    const bool layers = by_layers(d);
    const std::uint32_t n_devices = d.placement.n_devices;
    const auto [first, end] = layers_on(d, device);
    const bool tied = std::ranges::none_of(
        model_.tensors, [&](const Tensor& tensor) { return model_.name_of(tensor) == "output.weight"; });
    std::uint64_t sum = 0;
    for (const Tensor& tensor : model_.tensors) {
        if (tensor.layer >= static_cast<std::int32_t>(model_.n_layer())) continue; // of the MTP block
        const std::uint64_t bytes = checkpoint_bytes(model_, tensor, format);
        if (!layers) {
            sum = added(sum, share_of(bytes, rank_share(model_, tensor, n_devices)));
            continue;
        }
        const bool is_last = device + 1 == n_devices;
        bool here = tensor.layer >= static_cast<std::int32_t>(first) && tensor.layer < static_cast<std::int32_t>(end);
        if (tensor.layer < 0) {
            const bool output = tensor.section == TensorSection::output;
            here = output ? is_last : device == 0;
            if (tied && model_.name_of(tensor) == "token_embd.weight") here = here || is_last;
        }
        if (here) sum = added(sum, bytes);
    }
    if (profile_.rope_table)
        sum = added(sum, checked_mul(checked_mul(model_.n_ctx_train(), n_rot_), half_bytes, "a rope table"));
    return sum;
}

/// The peak of a trial run: the larger of the sampler's work on the logits and one layer's on a whole batch.
std::uint64_t ServingEstimator::activations(const Deployment& d, std::uint64_t weights, bool with_logits) const {
    const Settings& s = d.settings;
    const std::uint64_t n_ranks = by_layers(d) ? 1 : d.placement.n_devices;
    const std::uint64_t row = added(checked_mul(in_forward_ffn, n_ff_ / n_ranks), in_forward_embd * n_embd_);
    const std::uint64_t forward = checked_mul(checked_mul(s.n_batch, row), half_bytes, "activations");
    const std::uint64_t hidden = checked_mul(checked_mul(s.n_batch, n_embd_), half_bytes, "activations");
    const std::uint64_t logits =
        with_logits ? share_of(checked_mul(s.n_seq_max, n_vocab_, "logits"), profile_.logit_bytes) : 0;
    const bool traced = profile_.budget != ServingProfile::Budget::static_share; // which keeps its own for them
    const std::uint64_t peak = traced ? std::max(forward, added(hidden, logits)) : 0;
    return added(peak, share_of(weights, profile_.weights_share));
}

std::optional<std::string> ServingEstimator::refusal(const Deployment& d) const {
    const std::uint32_t n_devices = d.placement.n_devices;
    if (by_layers(d) || n_devices < 2 || n_head_ % n_devices == 0) return std::nullopt;
    std::string text =
        profile_.message("heads", {{"heads", std::to_string(n_head_)}, {"devices", std::to_string(n_devices)}});
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

/// The caches as the answer explains them: of one sequence, on the first device.
std::vector<Cache> ServingEstimator::shown_caches(const Deployment& d) const {
    std::vector<Cache> caches;
    const auto cache_named = [&](const char* kind, bool recurrent, std::uint64_t cells) -> Cache& {
        const auto known = std::ranges::find(caches, kind, &Cache::kind);
        if (known != caches.end()) return *known;
        Cache& cache = caches.emplace_back();
        cache.kind = kind;
        cache.recurrent = recurrent;
        cache.cells = cells;
        return cache;
    };
    const std::uint64_t n_ctx = d.settings.n_ctx;
    for (const auto& [il, kept] : layers_) {
        for (const Layer& layer : kept) {
            const bool state = layer.kind == Kind::state;
            const bool window = layer.kind == Kind::window;
            Cache& cache =
                cache_named(state    ? "recurrent"
                            : window ? "swa"
                                     : "full",
                            state, window ? std::min(n_ctx, added(layer.window, d.settings.n_batch)) : n_ctx);
            CacheLayer& shown = cache.layers.emplace_back();
            shown.il = static_cast<std::int32_t>(il);
            shown.device = 0;
            shown.k_width = layer.width;
            shown.k_bytes = checked_mul(checked_mul(layer.width, d.cache_bytes), cache.cells, "a KV cache");
            shown.r_bytes = layer.conv * half_bytes;
            shown.s_bytes = layer.state * state_bytes;
        }
    }
    return caches;
}

MemoryEstimate ServingEstimator::estimate(const Deployment& deployment) const {
    Deployment d = deployment;
    d.settings.kv_unified = true; // one pool of tokens, from which every sequence takes what it needs
    if (d.settings.n_ctx == 0) d.settings.n_ctx = model_.n_ctx_train();
    d.settings.n_seq_max = 1;
    MemoryEstimate e;
    e.context = plan_context(d.settings, model_.n_ctx_train());
    d.settings.n_seq_max = deployment.settings.n_seq_max;
    e.context.n_ctx = e.context.n_ctx_seq = d.settings.n_ctx;
    e.context.n_batch = e.context.n_ubatch = d.settings.n_batch;
    e.context.n_seqs = d.settings.n_seq_max;
    e.context.n_outputs = d.settings.n_seq_max;
    e.flash_attn = true;
    e.refusal = refusal(d);
    const WeightFormat& format = find_weight_format(d.weight_format);
    e.tensor_bytes = checkpoint_bytes(model_, format, false);
    e.weights_basis = e.kv_basis = e.compute_basis = Basis::modelled;
    const std::uint32_t n_devices = d.placement.n_devices;
    for (std::uint32_t i = 0; i < n_devices; ++i) {
        DeviceMemory& memory = e.devices.emplace_back();
        memory.weights = weights_on(d, format, i);
        const RequestBytes request = cache(d, i).request(d.settings.n_ctx, d.settings.n_batch);
        memory.kv_cache = request.kv_cache;
        memory.recurrent_state = request.state;
        memory.compute = activations(d, memory.weights, !by_layers(d) || i + 1 == n_devices);
        const std::uint64_t error = added(share_of(memory.compute, profile_.activation_error),
                                          share_of(memory.weights, profile_.weights_error));
        e.compute_error = std::max(e.compute_error, error);
    }
    e.caches = shown_caches(d);
    return e;
}

std::uint64_t ServingEstimator::kv_bytes_per_token(const Deployment& d) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < d.placement.n_devices; ++i) {
        for (const LayerCache& layer : layer_caches(d, i)) {
            if (layer.kind == Kind::full) sum = added(sum, layer.token_bytes);
        }
    }
    return sum;
}

} // namespace vramfit
