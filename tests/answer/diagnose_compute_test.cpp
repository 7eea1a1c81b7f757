// Compute buffers that find no room: what the log's own figures rule out is not advised.
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <algorithm>
#include <string>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

/// 11000 MiB free; weights and cache as given, in MiB; a compute buffer of 4608 MiB that is refused.
Diagnosis refused_with(const std::string& weights, const std::string& cache, const std::string& head = "") {
    const std::string log =
        head + "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 11000 MiB free\n" +
        "load_tensors:        CUDA0 model buffer size =  " + weights + " MiB\n" +
        "llama_context: n_ctx         = 65536\nllama_context: n_ubatch      = 512\n" +
        "llama_kv_cache:      CUDA0 KV buffer size =  " + cache + " MiB\n" +
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4608.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\nggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 4831838208\n"
        "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers\n";
    return diagnose(log_stream(log), {});
}

std::string flags_of(const Diagnosis& found) {
    std::string text;
    for (const DiagnosisAction& action : found.actions) {
        text += text.empty() ? "" : "; ";
        text += action.flags.empty() ? action.kind : "";
        for (const std::string& flag : action.flags) text += flag + " ";
    }
    return text;
}

bool any_has(const std::vector<std::string>& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

} // namespace

TEST_CASE("a compute buffer: half of it fits, or as much less cache", "[diagnose]") {
    // 11000 - 4403 - 4096 = 2501 MiB were left: 2304 fit, 2107 are missing. With 128 to spare that is 2235 / 4096 of the
    // cache: 29776 of 65536 tokens stay, 28672 in steps of 4096.
    const Diagnosis found = refused_with("4403.00", "4096.00");
    CHECK(found.cause == FailureCause::compute_too_large);
    CHECK(flags_of(found) == "-ub 256 ; -c 28672 ");
}

TEST_CASE("a compute buffer: smaller batches are not advised where the smallest would not fit", "[diagnose]") {
    // 197 MiB were left, and 32 / 512 of 4608 are 288. 4411 and 128 of 6400 MiB: 19056 of 65536 tokens stay.
    CHECK(flags_of(refused_with("4403.00", "6400.00")) == "-c 16384 ; quant");
    // 1189 MiB were left: 256 / 512 are 2304, 128 / 512 are 1152.
    CHECK(flags_of(refused_with("4403.00", "5408.00")).starts_with("-ub 128 "));
}

TEST_CASE("a compute buffer: weights and cache alone may be the cause", "[diagnose]") {
    // 4403 + 8192 - 11000 = 1595 MiB too many before it, 6203 with it: 14888 of 65536 tokens stay. A cache of 8 bits
    // saves 3840.
    const Diagnosis cache = refused_with("4403.00", "8192.00");
    CHECK(cache.stage == FailureStage::compute);
    CHECK(cache.cause == FailureCause::kv_too_large);
    CHECK(cache.summary.find("weights and cache alone take more than the 11000 MiB") != std::string::npos);
    CHECK(flags_of(cache) == "-c 12288 ; quant");
    CHECK(!any_has(cache.notes, "Windows"));
    const Diagnosis weights = refused_with("14403.00", "8192.00");
    CHECK(weights.cause == FailureCause::weights_too_large);
    CHECK(weights.summary.find("the weights alone take more") != std::string::npos);
}

TEST_CASE("a compute buffer: on Windows what lies there may have spilled already", "[diagnose]") {
    const Diagnosis found = refused_with("4403.00", "8192.00", "PS C:\\ai> .\\llama-server.exe -m x.gguf\n");
    CHECK(any_has(found.notes, "12595 MiB lie where 11000 MiB were free: on Windows"));
}
