#include "vramfit/memory/kv_cache.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t rotation_unit = 64; // llama-kv-cache.cpp rotates a quantized cache in blocks of 64

/// Width of the Hadamard rotation of keys: the largest 64 * 2^n that divides the head size, where 64 does.
std::uint64_t rotation_width(std::uint64_t head) {
    std::uint64_t width = rotation_unit;
    while (head % (width * 2) == 0) width *= 2;
    return width;
}

std::uint64_t part_bytes(TensorType type, std::uint64_t width, std::uint64_t cells, std::uint64_t n_stream) {
    return checked_mul(checked_mul(row_size(type, width), cells, "a KV cache"), n_stream, "a KV cache");
}

/// A cache tensor is padded like every tensor of its buffer (see weights.hpp).
std::uint64_t padded(TensorType type, std::uint64_t width, std::uint64_t bytes, std::int32_t device) {
    if (bytes == 0) return 0;
    return device == host_device ? pad(bytes, host_alignment) : pad(cuda_bytes(type, width, bytes), cuda_alignment);
}

/// The head size of all layers of a cache, or 0 where they differ.
std::uint64_t common_head(Evaluator& e, const Cache& cache, std::string_view symbol) {
    std::uint64_t head = 0;
    for (const CacheLayer& layer : cache.layers) {
        e.enter_layer(layer.il);
        const auto here = static_cast<std::uint64_t>(e.value_or(symbol, 0));
        if (head != 0 && here != head) return 0;
        head = here;
    }
    return head;
}

void plan_rotation(Evaluator& e, const Settings& settings, const CacheTemplate& t, Cache& cache) {
    const bool rotated = t.rotated.empty() ? !t.v.empty() : e.eval(t.rotated) != 0; // MLA's latent rows are not
    if (!rotated) return;
    if (traits(settings.type_k).quantized) {
        const std::uint64_t head = common_head(e, cache, "head_k");
        if (head != 0 && head % rotation_unit == 0) cache.n_rot_k = rotation_width(head);
    }
    if (traits(settings.type_v).quantized) {
        const std::uint64_t head = common_head(e, cache, "head_v");
        if (head != 0 && head % rotation_unit == 0) cache.n_rot_v = rotation_unit;
    }
}

/// Without flash attention V lies transposed, and where the layers of a model differ every one takes the width of the
/// widest (llama-kv-cache.cpp).
void plan_v_layout(bool v_trans, const std::vector<CacheTemplate>& templates, std::vector<Cache>& caches) {
    std::uint64_t widest = 0;
    for (std::size_t i = 0; i < caches.size(); ++i) {
        for (const CacheLayer& layer : caches[i].layers) {
            if (!templates[i].apart) widest = std::max(widest, layer.v_own);
        }
    }
    for (std::size_t i = 0; i < caches.size(); ++i) {
        caches[i].n_v_max = widest;
        const bool padded = v_trans && caches[i].has_v && !templates[i].apart;
        for (CacheLayer& layer : caches[i].layers) layer.v_width = padded ? widest : layer.v_own;
    }
}

void size_layers(const Settings& settings, Cache& cache) {
    for (CacheLayer& layer : cache.layers) {
        layer.k_bytes = part_bytes(settings.type_k, layer.k_width, cache.cells, cache.n_stream);
        layer.v_bytes = part_bytes(settings.type_v, layer.v_width, cache.cells, cache.n_stream);
        layer.alloc_bytes = 0;
        for (const std::uint64_t part : {padded(settings.type_k, layer.k_width, layer.k_bytes, layer.device),
                                         padded(settings.type_v, layer.v_width, layer.v_bytes, layer.device),
                                         padded(TensorType::f32, 1, layer.r_bytes, layer.device),
                                         padded(TensorType::f32, 1, layer.s_bytes, layer.device)})
            layer.alloc_bytes = checked_add(layer.alloc_bytes, part, "a KV cache");
    }
}

} // namespace

const CacheLayer* Cache::layer(std::int32_t il) const {
    const auto found = std::ranges::lower_bound(layers, il, {}, &CacheLayer::il);
    return found != layers.end() && found->il == il ? &*found : nullptr;
}

const CacheLayer* Cache::layer_behind(std::int32_t il) const {
    const auto found = std::ranges::upper_bound(layers, il, {}, &CacheLayer::il);
    return found != layers.end() ? &*found : nullptr;
}

std::uint64_t Cache::alloc_bytes() const {
    std::uint64_t sum = 0;
    for (const CacheLayer& l : layers) sum = checked_add(sum, l.alloc_bytes, "a KV cache");
    return sum;
}

void set_context(Evaluator& e, const Settings& settings, const ContextPlan& context) {
    const auto set = [&](Builtin name, std::uint64_t value) { e.set(name, static_cast<double>(value)); };
    set(Builtin::n_tokens, context.n_tokens);
    set(Builtin::n_outputs, context.n_outputs);
    set(Builtin::n_seqs, context.n_seqs);
    set(Builtin::n_stream, context.n_stream);
    set(Builtin::n_ctx, context.n_ctx);
    set(Builtin::n_ctx_seq, context.n_ctx_seq);
    set(Builtin::n_ubatch, context.n_ubatch);
    set(Builtin::kv_unified, settings.kv_unified ? 1 : 0);
    set(Builtin::swa_full, settings.swa_full ? 1 : 0);
    set(Builtin::k_f32, settings.type_k == TensorType::f32 ? 1 : 0);
    set(Builtin::v_f32, settings.type_v == TensorType::f32 ? 1 : 0);
    set(Builtin::embeddings, settings.embeddings ? 1 : 0);
    set(Builtin::mtp, settings.mtp ? 1 : 0);
}

std::vector<Cache> plan_caches(Evaluator& e, const Settings& settings, const ContextPlan& context,
                               const Placement& placement, bool v_trans) {
    const Architecture& architecture = e.architecture();
    std::vector<Cache> caches;
    caches.reserve(architecture.caches.size());
    for (const CacheTemplate& t : architecture.caches) {
        Cache cache;
        cache.kind = t.name;
        cache.recurrent = t.k.empty();
        cache.has_v = !t.v.empty();
        cache.n_stream = context.n_stream;
        if (cache.recurrent)
            cache.cells = context.n_seqs;
        else
            cache.cells = e.count(t.cells, "cells of cache " + t.name);
        if (!t.streams.empty()) cache.n_stream = e.count(t.streams, "streams of cache " + t.name);
        for (std::int32_t il = 0; il < static_cast<std::int32_t>(e.model().n_block()); ++il) {
            e.enter_layer(il);
            if (!e.holds(t.layers)) continue;
            CacheLayer layer;
            layer.il = il;
            layer.device = settings.offload_kqv ? placement.layer_device[static_cast<std::size_t>(il)] : host_device;
            if (!t.k.empty()) layer.k_width = e.count(t.k, "K of cache " + t.name);
            if (!t.v.empty()) layer.v_own = e.count(t.v, "V of cache " + t.name);
            if (!t.r.empty()) layer.r_bytes = checked_mul(4 * context.n_seqs, e.count(t.r, "state of " + t.name));
            if (!t.s.empty()) layer.s_bytes = checked_mul(4 * context.n_seqs, e.count(t.s, "state of " + t.name));
            cache.layers.push_back(layer);
        }
        plan_rotation(e, settings, t, cache);
        caches.push_back(std::move(cache));
    }
    plan_v_layout(v_trans, architecture.caches, caches);
    for (Cache& cache : caches) size_layers(settings, cache);
    return caches;
}

} // namespace vramfit
