#include "max_ctx.hpp"

#include "search.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace vramfit {
namespace {

constexpr std::uint64_t cells_step = 256;        // llama-context.cpp pads every sequence's cells to it
constexpr std::uint64_t most_cells = 1ULL << 31; // positions have 32 bits
// Of the largest compute buffer of smaller contexts a larger one has at least so much: 0.6 is the least that was seen
// in the whole catalog, with llama-server and llama-cli, with and without flash attention, with layers on the host.
constexpr double least_share = 0.5;
constexpr std::uint64_t close_by = 8;      // contexts that are tried one by one
constexpr std::uint64_t largest_step = 32; // contexts that are looked through at once
constexpr double rounding = 64.0 * kib;    // of the sizes of a buffer's parts

/// A device, or the computer where its memory is known, with a context: what it has to spare, and its compute buffer.
struct Room {
    double fit, tight; // bytes
    double compute;

    double spare(Verdict goal) const { return goal == Verdict::fit ? fit : tight; }
    /// Without the compute buffer: less and less as the context grows.
    double without_compute(Verdict goal) const { return spare(goal) + compute; }
};

struct Tried {
    std::int64_t fit, tight; // bytes to spare
    std::vector<Room> rooms; // none where it was refused

    std::int64_t spare(Verdict goal) const { return goal == Verdict::fit ? fit : tight; }
};

Room room(std::int64_t headroom, std::uint64_t wanted, std::uint64_t compute) {
    const auto tight = static_cast<double>(headroom);
    return {tight - static_cast<double>(wanted), tight, static_cast<double>(compute)};
}

Tried tried(const Trial& trial) {
    Tried result{trial.spare(Verdict::fit), trial.spare(Verdict::tight), {}};
    if (trial.verdict == Verdict::refused) return result;
    for (const DeviceAnswer& device : trial.devices)
        result.rooms.push_back(room(device.headroom, device.wanted, device.memory.compute));
    if (trial.ram) result.rooms.push_back(room(trial.ram->headroom, trial.ram->wanted, trial.estimate.host.compute));
    return result;
}

/// Contexts by number: number n has 256 n cells a sequence, the last one as many as the model was trained for.
class Contexts {
public:
    Contexts(Judge& judge, Request request) : judge_(judge), request_(std::move(request)) {
        const Settings settings = judge.deployment(request_).settings;
        n_stream_ = settings.kv_unified ? 1 : settings.n_seq_max;
        n_caches_ = judge.runtime().ctx_per_slot ? 1 : n_stream_;
        n_trained_ = judge.model().n_ctx_train();
    }

    std::uint64_t last() const {
        const std::uint64_t trained = (n_trained_ + cells_step - 1) / cells_step;
        const std::uint64_t countable = (most_cells - 1) / cells_step / n_stream_;
        return std::max<std::uint64_t>(1, std::min(trained, countable));
    }
    std::uint64_t n_ctx(std::uint64_t number) const {
        const std::uint64_t cells = number * cells_step;
        return (n_trained_ == 0 ? cells : std::min(cells, n_trained_)) * n_caches_;
    }

    void remember(const Trial& trial) { known_[request_.n_ctx.value_or(0)] = tried(trial); }

    /// The largest one with something to spare.
    std::optional<std::uint64_t> largest(std::uint64_t first, Verdict goal) {
        const auto found =
            last_that_fits(first, last(), [&](std::uint64_t number) { return with(number).spare(goal); });
        if (found == last()) return found;
        const auto larger = largest_beyond(found.value_or(first), goal);
        return larger ? larger : found;
    }

private:
    const Tried& with(std::uint64_t number) {
        const auto [it, added] = known_.try_emplace(n_ctx(number));
        if (added) {
            request_.n_ctx = it->first;
            it->second = tried(judge_.attempt(request_));
        }
        return it->second;
    }

    /// What the search misses: as the context grows a compute buffer may shrink, its parts fitting better into one
    /// another. Looks up to the context behind which that cannot make up for the growth of the caches.
    std::optional<std::uint64_t> largest_beyond(std::uint64_t number, Verdict goal) {
        std::optional<std::uint64_t> found;
        for (std::uint64_t from = number; from < last() && may_return(number, from, goal);) {
            // One by one at first: a little growth is made up for more easily than much.
            const std::uint64_t beyond = from - number;
            const std::uint64_t step = beyond < close_by ? 1 : std::min(beyond / 2, largest_step);
            const std::uint64_t to = std::min(from + step, last());
            const auto larger = with(to).spare(goal) >= 0 ? std::optional(to) : last_between(from, to, goal);
            if (larger) found = larger;
            from = to;
        }
        return found;
    }

    /// The last one between two contexts with something to spare. Where what there is to spare lies on a line, and
    /// neither end has any, no context between them has.
    std::optional<std::uint64_t> last_between(std::uint64_t from, std::uint64_t to, Verdict goal) {
        if (to - from < 2) return std::nullopt;
        const std::uint64_t middle = from + (to - from) / 2;
        const bool fits = with(middle).spare(goal) >= 0;
        if (!fits && with(from).spare(goal) < 0 && on_a_line(from, middle, to)) return std::nullopt;
        if (const auto found = last_between(middle, to, goal)) return found;
        return fits ? std::optional(middle) : last_between(from, middle, goal);
    }

    bool on_a_line(std::uint64_t from, std::uint64_t middle, std::uint64_t to) {
        const Tried& a = with(from);
        const Tried& b = with(middle);
        const Tried& c = with(to);
        if (b.rooms.size() != a.rooms.size() || c.rooms.size() != a.rooms.size()) return false; // refused
        const double share = static_cast<double>(middle - from) / static_cast<double>(to - from);
        for (std::size_t i = 0; i < a.rooms.size(); ++i) {
            const double expected = a.rooms[i].tight + share * (c.rooms[i].tight - a.rooms[i].tight);
            if (std::abs(b.rooms[i].tight - expected) > rounding) return false;
        }
        return true;
    }

    /// May a context beyond `number` fit, itself no smaller than `first`? And does anything grow at all?
    bool may_return(std::uint64_t first, std::uint64_t number, Verdict goal) {
        const Tried& start = with(first);
        const Tried& now = with(number);
        const Tried& end = with(last());
        if (now.rooms.empty() || start.rooms.empty() || end.rooms.empty()) return false; // refused
        bool grows = false;
        for (std::size_t i = 0; i < now.rooms.size(); ++i) {
            const double left = now.rooms[i].without_compute(goal);
            if (left < least_share * std::max(start.rooms[i].compute, now.rooms[i].compute)) return false;
            grows = grows || left > end.rooms[i].without_compute(goal);
        }
        return grows;
    }

    Judge& judge_;
    Request request_;
    std::uint64_t n_stream_ = 1;
    std::uint64_t n_caches_ = 1; ///< whose cells the context that is said counts together
    std::uint64_t n_trained_ = 0;
    std::map<std::uint64_t, Tried> known_; // by context
};

} // namespace

MaxContext max_context(Judge& judge, const Request& request, const Trial* known) {
    Contexts contexts(judge, request);
    if (known != nullptr) contexts.remember(*known);
    const std::uint64_t last = contexts.last();
    MaxContext max;
    max.limited_by = ContextLimit::memory;
    if (known != nullptr && known->verdict == Verdict::refused) {
        max.limited_by = ContextLimit::setting;
        return max;
    }
    const auto fit = contexts.largest(1, Verdict::fit);
    const auto tight = fit == last ? fit : contexts.largest(fit.value_or(1), Verdict::tight);
    max.fit = fit ? contexts.n_ctx(*fit) : 0;
    max.tight = tight ? contexts.n_ctx(*tight) : 0;
    if (fit == last) max.limited_by = ContextLimit::model;
    return max;
}

} // namespace vramfit
