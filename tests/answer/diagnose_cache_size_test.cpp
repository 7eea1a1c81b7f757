// What the cache's size in a log tells: the context it is for, and whether the model is the one that it seems.
#include "catch.hpp"
#include "support/diagnosed.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::figure;
using vramfit::test::log_stream;
using vramfit::test::notes;

namespace {

Request hints_of(std::string model, std::string quant, std::vector<std::string> gpus) {
    Request hints;
    hints.model = std::move(model);
    hints.quant = std::move(quant);
    hints.gpus = std::move(gpus);
    return hints;
}

/// Of Jan, whose log shows no context.
std::string refused(const std::string& mib, const std::string& bytes) {
    return "srv load_model: loading model '/models/Qwen3-4B-Q4_K_M.gguf'\n"
           "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating " +
           mib +
           " MiB on device 0: cudaMalloc failed: out of memory\n"
           "E alloc_tensor_range: failed to allocate CUDA0 buffer of size " +
           bytes +
           "\nE llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
}

} // namespace

TEST_CASE("the context is worked out from the cache's size where the log does not show it", "[diagnose]") {
    // 36 layers, 8 KV heads of 128, K and V of 2 bytes: 144 KiB a token; 36864 MiB are 262144 of them.
    const Request hints = hints_of("qwen3-4b", "q4_k_m", {"12GB"});
    const Diagnosis found = diagnose(log_stream(refused("36864.00", "38654705664")), hints);
    CHECK(figure(found, "n_ctx") == 262144);
    CHECK(notes(found, "a context of 262144 tokens, for a cache of f16"));
    REQUIRE(found.actions.size() == 2);
    for (const DiagnosisAction& action : found.actions) CHECK(action.verdict.has_value());
    CHECK(found.missing.empty());

    SECTION("by the log's model, too") {
        CHECK(figure(diagnose(log_stream(refused("36864.00", "38654705664")), {}), "n_ctx") == 262144);
    }
    SECTION("a size that no context has tells nothing") {
        const Diagnosis other = diagnose(log_stream(refused("36865.00", "38655754240")), hints);
        CHECK(other.figure("n_ctx") == nullptr);
    }
    SECTION("a context that is known stays") {
        Request said = hints;
        said.n_ctx = 262144;
        CHECK(!notes(diagnose(log_stream(refused("36864.00", "38654705664")), said), "worked out"));
    }
}

TEST_CASE("nothing is confirmed where the log's cache is larger than the model's can be", "[diagnose]") {
    // Latent attention: 61 layers of 576 elements at 2 bytes, 10.7 GiB for the 163840 tokens that it was trained for. The
    // log has 15.6 GiB of more: a build that kept whole heads.
    std::string log;
    for (const char* const device : {"CUDA0", "CUDA1", "CUDA2"})
        log += "llama_kv_cache_init:      " + std::string(device) + " KV buffer size =  3840.00 MiB\n";
    log += "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4480.00 MiB on device 3: cudaMalloc failed: out of "
           "memory\n"
           "llama_kv_cache_init: failed to allocate buffer for kv cache\n";
    const Diagnosis found = diagnose(log_stream(log), hints_of("deepseek-r1", "iq1_m", {"16x24GB"}));
    CHECK(notes(found, "nothing is confirmed"));
    REQUIRE(!found.actions.empty());
    CHECK(std::ranges::none_of(found.actions, [](const auto& action) { return action.verdict.has_value(); }));

    SECTION("one that can be is") {
        const std::string fits = "llama_context: n_ctx         = 163840\n"
                                 "llama_kv_cache:      CUDA0 KV buffer size =  3840.00 MiB\n"
                                 "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4480.00 MiB on device 1: "
                                 "cudaMalloc failed: out of memory\n"
                                 "llama_kv_cache: failed to allocate buffer for kv cache\n";
        CHECK(!notes(diagnose(log_stream(fits), hints_of("deepseek-r1", "iq1_m", {"16x24GB"})), "confirmed"));
    }
}
