#include "advice.hpp"

#include "wording.hpp"

#include "vramfit/memory/runtime.hpp"

#include <algorithm>

namespace vramfit {

void Advice::option(std::string_view kind, std::string_view value, std::string summary) {
    auto flags = flags_of(diagnosis_, kind, value);
    if (!flags.empty()) plain(kind, std::move(summary), std::move(flags));
}

void Advice::context(std::uint64_t n_ctx, std::string summary) {
    auto flags = n_ctx > 0 ? context_flags(diagnosis_, n_ctx) : std::vector<std::string>();
    if (!flags.empty()) plain("ctx", std::move(summary), std::move(flags));
}

void Advice::plain(std::string_view kind, std::string summary, std::vector<std::string> flags) {
    diagnosis_.actions.push_back({std::string(kind), std::move(summary), std::move(flags), {}});
}

std::string_view setting_of(const Diagnosis& diagnosis, std::string_view name) {
    const auto found = std::ranges::find(diagnosis.settings, name, &LogSetting::name);
    return found == diagnosis.settings.end() ? std::string_view() : std::string_view(found->value);
}

std::optional<std::uint64_t> value_of(const Diagnosis& diagnosis, std::string_view name) {
    const LogFigure* figure = diagnosis.figure(name);
    return figure == nullptr ? std::nullopt : std::optional(figure->value);
}

std::uint64_t rounded_context(std::uint64_t n_ctx) {
    for (const std::uint64_t step : {std::uint64_t{4096}, std::uint64_t{1024}, std::uint64_t{256}}) {
        if (n_ctx >= step) return n_ctx / step * step;
    }
    return 0;
}

std::uint64_t usual_ubatch() { return find_runtime("llama.cpp").n_ubatch; }

void advise_cache_type(Advice& advice, const Diagnosis& diagnosis) {
    const std::string_view type = setting_of(diagnosis, "cache_type_k");
    if (type == "q8_0") return advice.option("cache_type", "q4_0", "a cache of 4 bits: about half of q8_0");
    if (type.empty() || type == "f16" || type == "bf16" || type == "auto")
        advice.option("cache_type", "q8_0", "a cache of 8 bits: about half of f16");
}

} // namespace vramfit
