#include "vramfit/memory/settings.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>
#include <string>

namespace vramfit {
namespace {

// The mask of every graph has a cell for each token and each cell of the cache. Beyond this many nothing fits any
// computer, and sums of sizes come near the end of 64 bits.
constexpr std::uint64_t max_mask = std::uint64_t{1} << 48;

} // namespace

ContextPlan plan_context(const Settings& settings, std::uint64_t n_ctx_train) {
    const std::uint64_t n_ctx = settings.n_ctx == 0 ? n_ctx_train : settings.n_ctx;
    if (n_ctx == 0 || n_ctx > max_ctx)
        throw Error("a context of " + std::to_string(n_ctx) + " tokens is impossible; 1 to " + std::to_string(max_ctx) +
                    " would be right");
    if (settings.n_seq_max == 0 || settings.n_seq_max > max_sequences)
        throw Error(std::to_string(settings.n_seq_max) + " parallel sequences are impossible; 1 to " +
                    std::to_string(max_sequences) + " would be right");
    if (settings.n_batch == 0 || settings.n_ubatch == 0) throw Error("a batch of 0 tokens is impossible");
    ContextPlan plan;
    plan.n_seqs = settings.n_seq_max;
    plan.n_batch = std::min(n_ctx, settings.n_batch);
    plan.n_ubatch = std::min(plan.n_batch, settings.n_ubatch);
    plan.n_ctx = pad(n_ctx, n_cells_pad);
    if (settings.kv_unified) {
        plan.n_stream = 1;
        plan.n_ctx_seq = plan.n_ctx;
    } else {
        plan.n_stream = settings.n_seq_max;
        plan.n_ctx_seq = pad(plan.n_ctx / settings.n_seq_max, n_cells_pad);
        plan.n_ctx = plan.n_ctx_seq * settings.n_seq_max;
    }
    plan.n_tokens = pad(std::min(plan.n_ctx, plan.n_ubatch), settings.n_seq_max);
    if (plan.n_tokens > max_mask / plan.n_ctx)
        throw Error("a micro-batch of " + std::to_string(plan.n_tokens) + " tokens over a context of " +
                    std::to_string(plan.n_ctx) + " is beyond every computer; the micro-batch is usually 512");
    const std::uint64_t n_outputs_max = settings.n_outputs_max == 0 ? plan.n_batch : settings.n_outputs_max;
    plan.n_outputs = std::min(std::min(plan.n_ctx, plan.n_ubatch), n_outputs_max);
    return plan;
}

} // namespace vramfit
