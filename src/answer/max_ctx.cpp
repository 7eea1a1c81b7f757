#include "max_ctx.hpp"

#include "search.hpp"

#include <algorithm>
#include <map>

namespace vramfit {
namespace {

constexpr std::uint64_t cells_step = 256;        // llama-context.cpp pads every sequence's cells to it
constexpr std::uint64_t most_cells = 1ULL << 31; // positions have 32 bits

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

    void remember(const Trial& trial) { known_[request_.n_ctx.value_or(0)] = spare_of(trial); }

    std::int64_t spare(std::uint64_t number, Verdict goal) {
        const auto [it, added] = known_.try_emplace(n_ctx(number));
        if (added) {
            request_.n_ctx = it->first;
            it->second = spare_of(judge_.attempt(request_));
        }
        return goal == Verdict::fit ? it->second.fit : it->second.tight;
    }

private:
    struct Spares {
        std::int64_t fit = 0, tight = 0;
    };
    static Spares spare_of(const Trial& trial) { return {trial.spare(Verdict::fit), trial.spare(Verdict::tight)}; }

    Judge& judge_;
    Request request_;
    std::uint64_t n_stream_ = 1;
    std::uint64_t n_caches_ = 1; ///< whose cells the context that is said counts together
    std::uint64_t n_trained_ = 0;
    std::map<std::uint64_t, Spares> known_; // by context
};

} // namespace

MaxContext max_context(Judge& judge, const Request& request, const Trial* known) {
    Contexts contexts(judge, request);
    if (known != nullptr) contexts.remember(*known);
    const std::uint64_t last = contexts.last();
    const auto largest = [&](std::uint64_t first, Verdict goal) {
        return last_that_fits(first, last, [&](std::uint64_t number) { return contexts.spare(number, goal); });
    };
    MaxContext max;
    max.limited_by = ContextLimit::memory;
    if (known != nullptr && known->verdict == Verdict::refused) {
        max.limited_by = ContextLimit::setting;
        return max;
    }
    const auto fit = largest(1, Verdict::fit);
    const auto tight = fit == last ? fit : largest(fit.value_or(1), Verdict::tight);
    max.fit = fit ? contexts.n_ctx(*fit) : 0;
    max.tight = tight ? contexts.n_ctx(*tight) : 0;
    if (fit == last) max.limited_by = ContextLimit::model;
    return max;
}

} // namespace vramfit
