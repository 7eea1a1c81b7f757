#include "advisor.hpp"

#include <algorithm>
#include <string>

namespace vramfit {

Change context_change(const Advisor& advisor, Request request, std::uint64_t n_ctx) {
    Change change;
    change.kind = "ctx";
    change.summary = "a context of " + std::to_string(n_ctx) + " instead of " + std::to_string(advisor.n_ctx());
    change.set = {{"n_ctx", n_ctx}};
    change.write(advisor.runtime(), "n_ctx", std::to_string(n_ctx));
    request.n_ctx = n_ctx;
    change.request = std::move(request);
    return change;
}

bool leaves_little_context(const Advisor& advisor) {
    const MaxContext& max = advisor.max_ctx();
    const std::uint64_t best = max.fit > 0 ? max.fit : max.tight;
    return best < std::min(advisor.runtime().least_ctx, advisor.n_ctx());
}

void advise_context(Advisor& advisor) {
    const std::uint64_t asked = advisor.n_ctx();
    const MaxContext& max = advisor.max_ctx();
    const std::uint64_t best = max.fit > 0 ? max.fit : max.tight;
    if (best > 0 && best < asked) advisor.consider(context_change(advisor, advisor.request(), best));
}

} // namespace vramfit
