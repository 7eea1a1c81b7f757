// The splits of small graphs, from the toy of tests/fixtures: two blocks, an embedding on the host.
#include "support/fixtures.hpp"
#include "vramfit/memory/estimate.hpp"

#include "catch.hpp"

#include <numeric>

using namespace vramfit;

namespace {

struct Scheduled {
    Schedule schedule;
    std::uint32_t n_devices = 1;

    /// The backend of the `n`th node of that operation.
    std::int32_t backend_of(Op op, int n = 0) const {
        for (const ScheduledNode& step : schedule.steps) {
            if (schedule.graph.tensors[static_cast<std::size_t>(step.tensor)].op == op && n-- == 0) return step.backend;
        }
        return -1;
    }
};

Scheduled scheduled(const PlacementRequest& request, std::uint64_t n_ubatch = 512, bool op_offload = true) {
    const Model model = test::toy_model();
    Evaluator evaluator(model);
    Settings s;
    s.n_ctx = 1024;
    s.n_ubatch = n_ubatch;
    s.op_offload = op_offload;
    s.n_outputs_max = 1;
    const ContextPlan context = plan_context(s, 1024);
    const Placement placement = place(model, request, false);
    set_context(evaluator, s, context);
    const std::vector<Cache> caches = plan_caches(evaluator, s, context, placement, false);
    ComputePlanner planner(evaluator);
    const std::vector<TensorType> types(model.tensors.size(), TensorType::f16);
    return {planner.trace(s, context, placement, caches, types, true).schedule, request.n_devices};
}

PlacementRequest layers(std::int64_t n, std::uint32_t n_devices = 1) {
    PlacementRequest r;
    r.n_gpu_layers = n;
    r.n_devices = n_devices;
    return r;
}

} // namespace

TEST_CASE("everything on the device: the embedding's rows on the host, then one split") {
    const Scheduled s = scheduled(layers(-1));
    CHECK(s.schedule.n_splits == 2);
    CHECK(s.backend_of(Op::get_rows) == 1); // behind the devices: the host
    CHECK(s.backend_of(Op::mul_mat) == 0);
    CHECK(s.backend_of(Op::flash_attn_ext, 1) == 0);
}

TEST_CASE("no device: one split on the host") {
    const Scheduled s = scheduled(layers(-1, 0));
    CHECK(s.schedule.n_splits == 1);
    for (const ScheduledNode& step : s.schedule.steps) CHECK(step.backend == 0);
}

TEST_CASE("attention of a block on the host follows the products around it, and its cache is copied") {
    const Scheduled offloaded = scheduled(layers(2)); // the output layer and block 1; block 0 is on the host
    CHECK(offloaded.backend_of(Op::flash_attn_ext, 0) == 0);
    CHECK(offloaded.backend_of(Op::flash_attn_ext, 1) == 0);
    CHECK(offloaded.backend_of(Op::set_rows) == 1); // into the cache, where that lies
    CHECK(offloaded.schedule.n_splits > 2);
    const Scheduled small = scheduled(layers(2), 31); // too few tokens to move products
    CHECK(small.backend_of(Op::flash_attn_ext, 0) == 1);
    CHECK(small.backend_of(Op::flash_attn_ext, 1) == 0);
}

TEST_CASE("products with host weights run on the device from a batch of 32 on, and not with --no-op-offload") {
    CHECK(scheduled(layers(1)).backend_of(Op::mul_mat) == 0);
    CHECK(scheduled(layers(1), 32).backend_of(Op::mul_mat) == 0);
    CHECK(scheduled(layers(1), 31).backend_of(Op::mul_mat) == 1);
    CHECK(scheduled(layers(1), 512, false).backend_of(Op::mul_mat) == 1);
}

TEST_CASE("two devices: a split each behind the host's") {
    PlacementRequest r = layers(-1, 2);
    r.tensor_split = {1, 2}; // block 0; block 1 and the output layer
    const Scheduled s = scheduled(r);
    CHECK(s.schedule.n_splits == 3);
    CHECK(s.backend_of(Op::get_rows) == 2);
    CHECK(s.backend_of(Op::flash_attn_ext, 0) == 0);
    CHECK(s.backend_of(Op::flash_attn_ext, 1) == 1);
}

TEST_CASE("every step is on one of the backends, and reads what is there or was copied there") {
    for (const PlacementRequest& r : {layers(-1), layers(1), layers(2), layers(-1, 2), layers(2, 2), layers(0)}) {
        const Scheduled s = scheduled(r);
        const auto host = static_cast<std::int32_t>(s.n_devices);
        for (const ScheduledNode& step : s.schedule.steps) {
            CHECK(step.backend >= 0);
            CHECK(step.backend <= host);
        }
    }
}
