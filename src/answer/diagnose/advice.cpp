#include "advice.hpp"

#include "wording.hpp"

#include "vramfit/hardware/device.hpp"
#include "vramfit/memory/runtime.hpp"

#include <algorithm>

namespace vramfit {

void Advice::option(std::string_view kind, std::string_view value, std::string summary) {
    auto flags = flags_of(diagnosis_, kind, value);
    if (!flags.empty()) plain(kind, std::move(summary), std::move(flags));
}

void Advice::smaller(std::string_view kind, std::uint64_t wanted, std::optional<std::uint64_t> in_effect,
                     std::string summary) {
    if (in_effect && *in_effect <= wanted) wanted = *in_effect / 2;
    if (wanted > 0) option(kind, std::to_string(wanted), std::move(summary));
}

void Advice::more_gpus(std::string summary) {
    const std::uint64_t n_gpus = std::max<std::uint64_t>(value_of(diagnosis_, "n_gpus").value_or(1), 1);
    if (n_gpus <= max_devices / 2) option("split", std::to_string(2 * n_gpus), std::move(summary));
}

void Advice::context(std::uint64_t n_ctx, std::string summary) {
    auto flags = n_ctx > 0 ? context_flags(diagnosis_, n_ctx) : std::vector<std::string>();
    if (!flags.empty()) plain("ctx", std::move(summary), std::move(flags));
}

void Advice::plain(std::string_view kind, std::string summary, std::vector<std::string> flags) {
    diagnosis_.actions.push_back({std::string(kind), std::move(summary), std::move(flags), {}});
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
