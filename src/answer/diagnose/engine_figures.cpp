#include "engine_figures.hpp"

#include "figures.hpp"
#include "log_text.hpp"

namespace vramfit {

EngineCache engine_cache_of(const Diagnosis& diagnosis) {
    EngineCache need;
    need.below = value_of(diagnosis, "kv_missing").value_or(0);
    if (need.below > 0) return need;
    need.needed = value_of(diagnosis, "requested");
    if (need.needed) {
        need.there = value_of(diagnosis, "free");
        return need;
    }
    need.there = value_of(diagnosis, "kv_cache");
    const auto n_ctx = value_of(diagnosis, "n_ctx");
    auto tokens = value_of(diagnosis, "kv_tokens");
    if (!tokens) tokens = value_of(diagnosis, "max_ctx");
    if (need.there && n_ctx && tokens && *tokens > 0)
        need.needed = log_text::bytes_of(
            static_cast<double>(*need.there) / static_cast<double>(*tokens) * static_cast<double>(*n_ctx), 1);
    return need;
}

std::optional<double> said_share(const Diagnosis& diagnosis) {
    for (const std::string_view name : {"gpu_memory_utilization", "mem_fraction_static"}) {
        const auto share = log_text::number(setting_of(diagnosis, name));
        if (share && *share > 0 && *share <= 1) return share;
    }
    return std::nullopt;
}

} // namespace vramfit
