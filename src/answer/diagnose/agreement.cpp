#include "agreement.hpp"

#include "conclude.hpp"
#include "figure_text.hpp"
#include "log_text.hpp"
#include "tokens_beside.hpp"
#include "wording.hpp"

#include "answer/judge.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <set>

namespace vramfit {
namespace {

constexpr std::uint64_t rounding = 8 * kib; // of sizes printed in hundredths of a MiB

/// What the device was asked for, where that was the cache.
std::uint64_t refused_cache(const Diagnosis& diagnosis, const Load& load) {
    const LogFigure* asked = diagnosis.figure("requested");
    const bool cache =
        diagnosis.stage == FailureStage::kv_cache && load.failure && load.failure->part == LoadPart::model;
    return cache && asked != nullptr && asked->line > 0 ? asked->value : 0;
}

std::uint64_t logged_caches(const Load& load) {
    return load.sum(BufferKind::kv_cache, false).value_or(Logged{}).value +
           load.sum(BufferKind::kv_cache, true).value_or(Logged{}).value;
}

bool is_split(const Load& load) {
    const auto layers = load.number("gpu_layers"), all = load.number("gpu_layers_of");
    return load.devices.size() > 1 || (layers && all && layers->value < all->value);
}

std::uint64_t cache_of(Request request, Estimator& estimator, std::uint64_t n_ctx) {
    request.n_ctx = n_ctx;
    return cache_need(request, estimator).bytes;
}

/// The context whose cache takes exactly `bytes`; nothing where there is none.
std::optional<std::uint64_t> context_of(std::uint64_t bytes, const Request& request, Estimator& estimator) {
    std::uint64_t low = 1, high = max_ctx / 2 / n_cells_pad;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (cache_of(request, estimator, middle * n_cells_pad) + rounding >= bytes)
            high = middle;
        else
            low = middle + 1;
    }
    const std::uint64_t found = cache_of(request, estimator, low * n_cells_pad);
    return found <= bytes + rounding && found + rounding >= bytes ? std::optional(low * n_cells_pad) : std::nullopt;
}

void find_context(Diagnosis& diagnosis, const Load& load, Request& request, Estimator& estimator) {
    const std::uint64_t asked = refused_cache(diagnosis, load);
    if (request.n_ctx || asked == 0 || logged_caches(load) > 0 || is_split(load)) return;
    const auto n_ctx = context_of(asked, request, estimator);
    if (!n_ctx) return;
    request.n_ctx = n_ctx;
    diagnosis.figures.push_back({"n_ctx", *n_ctx, 0, false});
    diagnosis.notes.push_back("worked out from the size of the cache: a context of " + tokens_text(*n_ctx) +
                              ", for a cache of " + std::string(traits(request.type_k.value_or(TensorType::f16)).name));
}

/// What the cache of the context takes, where the log shows no request for it; that it was there is no reason to fail.
void find_request(Diagnosis& diagnosis, const Load& load, const Request& request, Estimator& estimator) {
    if (diagnosis.stage != FailureStage::kv_cache || diagnosis.figure("requested") != nullptr) return;
    if (diagnosis.figure("n_ctx") == nullptr) return;
    const CacheNeed need = cache_need(request, estimator);
    if (need.per_token == 0) return;
    const Budget budget = budget_of(load, diagnosis);
    const bool fits = budget.free_is_left && need.bytes <= budget.free->value;
    if (fits && diagnosis.cause == FailureCause::kv_too_large) diagnosis.cause = FailureCause::other_process;
    diagnosis.figures.push_back({"requested", need.bytes, 0, true});
}

void check_size(Diagnosis& diagnosis, const Load& load, const Request& request, Subject& subject) {
    const std::uint64_t logged = checked_add(logged_caches(load), refused_cache(diagnosis, load), "the log's caches");
    if (logged == 0) return;
    const CacheNeed most = cache_need(request, *subject.estimator);
    if (logged <= most.bytes || logged - most.bytes < mib) return;
    subject.agrees = false;
    diagnosis.notes.push_back("nothing is confirmed: the log's cache (" + format_bytes(logged) +
                              " and more) is larger than this model's at " + tokens_text(most.n_ctx) + " (" +
                              format_bytes(most.bytes) +
                              "): another model, an older build, or settings that the log does not show");
}

/// The GPUs that the log has buffers on, and as many as the number of the one that failed tells.
std::size_t devices_in_use(const Diagnosis& diagnosis, const Load& load) {
    std::set<std::string_view> names;
    const auto add = [&](std::string_view name) {
        if (!name.empty() && !is_host_buffer(name)) names.insert(device_of_buffer(name));
    };
    for (const LogBuffer& buffer : load.buffers) add(buffer.device);
    add(diagnosis.device);
    const std::size_t digits = diagnosis.device.find_last_not_of("0123456789") + 1;
    const auto last = log_text::count(std::string_view(diagnosis.device).substr(digits));
    return std::max<std::size_t>(names.size(), last && *last < max_devices ? *last + 1 : 0);
}

void check_devices(Diagnosis& diagnosis, const Load& load, const Request& request, Subject& subject) {
    const std::size_t named = request.gpus.empty() ? 0 : requested_devices(request).size();
    const std::size_t used = devices_in_use(diagnosis, load);
    if (named == 0 || used <= named) return;
    subject.agrees = false;
    diagnosis.notes.push_back("nothing is confirmed: the log has " + std::to_string(used) + " GPUs, and " +
                              std::to_string(named) + (named == 1 ? " is" : " are") + " named; name all, as in --gpu " +
                              std::to_string(used) + "x24GB");
}

} // namespace

void check_agreement(Diagnosis& diagnosis, const Load& load, Request& request, Subject& subject) {
    if (!diagnosis.oom || !subject.known() || !runs_llama_cpp(diagnosis)) return;
    try {
        find_context(diagnosis, load, request, *subject.estimator);
        find_request(diagnosis, load, request, *subject.estimator);
        check_size(diagnosis, load, request, subject);
        check_devices(diagnosis, load, request, subject);
    } catch (const Error&) { // settings that make no cache: its size tells nothing
        return;
    }
}

} // namespace vramfit
