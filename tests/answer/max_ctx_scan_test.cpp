#include "answer/max_ctx.hpp"

#include "ask.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <vector>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// What a context takes on the fullest device, all of which have as much free.
struct Taken {
    std::uint64_t n_ctx;
    std::uint64_t required, wanted;
};

/// Every context that there is, one by one.
std::vector<Taken> every_context(Judge& judge, Request request) {
    const std::uint64_t n_stream = request.parallel && !request.kv_unified.value_or(false) ? *request.parallel : 1;
    const std::uint64_t trained = judge.model().n_ctx_train();
    std::vector<Taken> contexts;
    for (std::uint64_t cells = 256; cells < trained + 256; cells += 256) {
        request.n_ctx = std::min(cells, trained) * n_stream;
        const Trial trial = judge.attempt(request);
        Taken taken{*request.n_ctx, 0, 0};
        for (const DeviceAnswer& device : trial.devices) {
            taken.required = std::max(taken.required, device.required);
            taken.wanted = std::max(taken.wanted, device.wanted);
        }
        contexts.push_back(taken);
    }
    return contexts;
}

std::uint64_t largest_in(const std::vector<Taken>& contexts, std::uint64_t free, bool tight) {
    std::uint64_t largest = 0;
    for (const Taken& c : contexts) {
        if (c.required + (tight ? 0 : c.wanted) <= free) largest = c.n_ctx;
    }
    return largest;
}

/// Amounts of free memory between nothing and everything, and those at which a larger context takes less than a
/// smaller one: there the search goes wrong that takes the first end for the only one.
std::vector<std::uint64_t> awkward_amounts(const std::vector<Taken>& contexts) {
    constexpr std::size_t n_even = 8;
    std::vector<std::uint64_t> amounts;
    for (std::size_t i = 0; i <= n_even; ++i) {
        const Taken& at = contexts[i * (contexts.size() - 1) / n_even];
        for (const std::uint64_t wanted : {std::uint64_t{0}, at.wanted}) {
            amounts.push_back(at.required + wanted);
            amounts.push_back(at.required + wanted - 1);
        }
    }
    constexpr std::size_t most_bends = 20;
    std::vector<Taken> bends;
    std::uint64_t most = 0;
    for (const Taken& c : contexts) {
        if (c.required < most) bends.push_back(c);
        most = std::max(most, c.required);
    }
    for (std::size_t i = 0; i < bends.size(); i += 1 + bends.size() / most_bends) {
        amounts.push_back(bends[i].required);
        amounts.push_back(bends[i].required + bends[i].wanted);
    }
    return amounts;
}

/// Returns in how many of the amounts a context fits although a smaller one does not.
std::size_t check_all(Request request, std::size_t n_devices = 1) {
    Estimator estimator(catalog_model(request.model));
    request.gpus.assign(n_devices, "400GB");
    request.free = 400 * gib;
    Judge roomy(request, estimator);
    const std::vector<Taken> contexts = every_context(roomy, request);
    REQUIRE(contexts.size() > 1);
    std::size_t n_bent = 0;
    for (const std::uint64_t free : awkward_amounts(contexts)) {
        request.free = free;
        Judge judge(request, estimator);
        const MaxContext max = max_context(judge, request);
        INFO(request.model << " with " << free << " bytes free");
        CHECK(max.fit == largest_in(contexts, free, false));
        CHECK(max.tight == largest_in(contexts, free, true));
        CHECK((max.limited_by == ContextLimit::model) == (max.fit == contexts.back().n_ctx));
        n_bent +=
            std::ranges::any_of(contexts, [&](const Taken& c) { return c.n_ctx < max.tight && c.required > free; });
    }
    return n_bent;
}

} // namespace

TEST_CASE("no context larger than the largest fits: every one was tried") {
    check_all(question("llama3-8b", "q4_k_m", 0, ""));
    check_all(question("gemma3-1b", "q4_k_m", 0, ""));             // sliding windows
    check_all(question("granite-3.0-1b-a400m", "q4_k_m", 0, ""));  // experts
    check_all(question("mamba-2.8b", "q4_k_m", 0, ""));            // state alone
    check_all(question("granite-4.0-h-350m", "q4_k_m", 0, ""));    // state, and attention in some layers
    check_all(question("moonlight-16b-a3b", "q4_k_m", 0, ""));     // MLA
    Request request = question("falcon-h1-0.5b", "q4_k_m", 0, ""); // state and attention in each layer
    request.type_k = request.type_v = TensorType::q8_0;
    check_all(request);
    request = question("gemma2-2b", "q4_k_m", 0, "");
    request.parallel = 3;
    check_all(request);
    request = question("falcon3-1b", "q4_k_m", 0, "");
    request.flash_attn = FlashAttention::off;
    check_all(request);
    check_all(question("llama3-8b", "q4_k_m", 0, ""), 3);
    check_all(question("gemma2-9b", "q4_k_m", 0, ""), 2);
}

TEST_CASE("a larger context that takes less memory than a smaller one is found") {
    // A batch of 2048 with logits for each of its tokens: states and scores fit into one another better, or worse.
    for (const char* model : {"granite-4.0-h-350m", "gemma3n-e2b", "deepseek-coder-1.3b"}) {
        Request request = question(model, "q4_k_m", 0, "");
        request.runtime = "llama-cli";
        request.n_ubatch = 2048;
        CHECK(check_all(request) > 0);
    }
    // Layers on the host, whose weights are copied to the device.
    Request request = question("exaone-3.5-2.4b", "q4_k_m", 0, "");
    request.n_gpu_layers = 12;
    CHECK(check_all(request) > 0);
}
