#include "cli/explain_caches.hpp"

#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

/// Layers of a cache that store the same: one line of the explanation.
struct Alike {
    const CacheLayer* first = nullptr;
    std::uint64_t heads = 0; ///< 0: not known
    std::uint64_t layers = 0;
    std::uint64_t k_bytes = 0, v_bytes = 0, r_bytes = 0, s_bytes = 0; ///< of all these layers
};

std::uint64_t heads_of(const Answer& answer, const CacheLayer& layer) {
    const auto il = static_cast<std::size_t>(layer.il);
    return il < answer.kv_heads.size() ? answer.kv_heads[il] : 0;
}

std::vector<Alike> alike_layers(const Cache& cache, const Answer& answer) {
    std::vector<Alike> groups;
    for (const CacheLayer& layer : cache.layers) {
        const std::uint64_t heads = heads_of(answer, layer);
        const auto same = [&](const Alike& group) {
            return group.heads == heads && group.first->k_width == layer.k_width &&
                   group.first->v_width == layer.v_width && group.first->r_bytes == layer.r_bytes &&
                   group.first->s_bytes == layer.s_bytes;
        };
        auto group = std::find_if(groups.begin(), groups.end(), same);
        if (group == groups.end()) group = groups.insert(groups.end(), Alike{&layer, heads});
        ++group->layers;
        group->k_bytes += layer.k_bytes;
        group->v_bytes += layer.v_bytes;
        group->r_bytes += layer.r_bytes;
        group->s_bytes += layer.s_bytes;
    }
    return groups;
}

/// Writes the formulas of one cache.
class Formulas {
public:
    Formulas(const Answer& answer, const Cache& cache, const Terminal& terminal)
        : answer_(answer),
          cache_(cache),
          times_(" " + std::string(terminal.times()) + " ") {}

    std::vector<std::string> of(const Alike& group) const {
        const EffectiveSettings& settings = answer_.settings;
        if (cache_.recurrent) return {state(group)};
        if (group.v_bytes == 0) return {attention("", "", group, group.first->k_width, settings.type_k, group.k_bytes)};
        if (group.first->k_width == group.first->v_width && settings.type_k == settings.type_v) {
            return {attention("", "2" + times_, group, group.first->k_width, settings.type_k,
                              group.k_bytes + group.v_bytes)};
        }
        return {attention(" K", "", group, group.first->k_width, settings.type_k, group.k_bytes),
                attention(" V", "", group, group.first->v_width, settings.type_v, group.v_bytes)};
    }

private:
    static std::string layers(const Alike& group) {
        return std::to_string(group.layers) + (group.layers == 1 ? " layer" : " layers");
    }

    std::string width(std::uint64_t elements, std::uint64_t heads) const {
        if (heads == 0 || elements % heads != 0) return std::to_string(elements);
        return std::to_string(heads) + (heads == 1 ? " KV head" : " KV heads") + times_ +
               std::to_string(elements / heads);
    }

    std::string cells() const {
        const bool all = cache_.cells == answer_.settings.n_ctx_per_seq;
        return (cache_.n_stream > 1 ? std::to_string(cache_.n_stream) + " slots" + times_ : "") +
               std::to_string(cache_.cells) + (all ? " tokens" : " cells");
    }

    static std::string element_size(TensorType type) {
        const TensorTypeTraits& t = traits(type);
        return std::to_string(t.block_bytes) + (t.block > 1 ? "/" + std::to_string(t.block) : "") + " bytes";
    }

    std::string attention(std::string_view part, std::string_view factor, const Alike& group, std::uint64_t elements,
                          TensorType type, std::uint64_t bytes) const {
        return cache_.kind + std::string(part) + ": " + std::string(factor) + layers(group) + times_ +
               width(elements, group.heads) + times_ + cells() + times_ + element_size(type) + " = " + size_text(bytes);
    }

    std::string state(const Alike& group) const {
        const CacheLayer& layer = *group.first;
        return cache_.kind + ": " + layers(group) + times_ + "(" + format_bytes(layer.r_bytes) + " R + " +
               format_bytes(layer.s_bytes) + " S) = " + size_text(group.r_bytes + group.s_bytes);
    }

    const Answer& answer_;
    const Cache& cache_;
    std::string times_;
};

} // namespace

std::vector<std::string> cache_formulas(const Answer& answer, const Terminal& terminal) {
    std::vector<std::string> lines;
    for (const Cache& cache : answer.estimate.caches) {
        const Formulas formulas(answer, cache, terminal);
        for (const Alike& group : alike_layers(cache, answer)) {
            for (std::string& line : formulas.of(group)) lines.push_back(std::move(line));
        }
    }
    return lines;
}

} // namespace vramfit::cli
