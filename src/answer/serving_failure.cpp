#include "serving_failure.hpp"

#include "search.hpp"
#include "serving_text.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// Bytes that are left for the caches of a device, or nothing where not even the rest finds room.
std::optional<std::uint64_t> room_for_cache(const DeviceAnswer& device) {
    const std::uint64_t caches = device.memory.kv_cache + device.memory.recurrent_state;
    const std::uint64_t others = device.required - caches;
    if (others >= device.available) return std::nullopt;
    return device.available - others;
}

std::string number(std::uint64_t n) { return std::to_string(n); }

/// Tokens at which a cache that grows with the text meets the end of the memory, in steps of 256: whether the model was
/// trained for so many or not.
std::uint64_t tokens_that_grow(Judge& judge, Request request, std::uint64_t n_ctx) {
    constexpr std::uint64_t step = 256;
    const auto spare = [&](std::uint64_t steps) {
        request.n_ctx = steps * step;
        return judge.attempt(request).spare(Verdict::tight);
    };
    return last_that_fits(1, std::max<std::uint64_t>(1, n_ctx / step), spare).value_or(0) * step;
}

} // namespace

std::optional<Failure> serving_failure(Judge& judge, const Request& request, const Trial& trial,
                                       const MaxContext& largest) {
    if (trial.estimate.refusal) return Failure{"load", std::nullopt, *trial.estimate.refusal};
    if (trial.verdict != Verdict::oom) return std::nullopt;
    const ServingProfile& engine = *judge.runtime().serving;
    const DeviceAnswer& worst = trial.worst();
    if (worst.memory.weights + worst.overhead > worst.total)
        return Failure{"load", std::nullopt,
                       engine.message("weights", {{"weights", two_digits(worst.memory.weights)}})};
    const std::uint64_t n_ctx = trial.estimate.context.n_ctx;
    const auto room = room_for_cache(worst);
    if (!room) return Failure{"load", std::nullopt, engine.message("no_room", {{"share", share_text(trial.share)}})};
    const std::uint64_t most = engine.cache.rule == CacheRule::growing ? tokens_that_grow(judge, request, n_ctx)
                                                                       : std::max(largest.fit, largest.tight);
    const std::string message =
        engine.message("too_long", {{"n_ctx", number(n_ctx)},
                                    {"needed", two_digits(worst.memory.kv_cache + worst.memory.recurrent_state)},
                                    {"room", two_digits(*room)},
                                    {"most", number(most)},
                                    {"required", number(worst.required / mib)},
                                    {"available", number(worst.available / mib)}});
    if (engine.cache.rule == CacheRule::paged) return Failure{"load", std::nullopt, message};
    const std::uint64_t at_tokens = trial.serving ? trial.serving->kv_cache_tokens : most;
    return Failure{"generation", at_tokens > 0 ? std::optional(at_tokens) : std::nullopt, message};
}

} // namespace vramfit
