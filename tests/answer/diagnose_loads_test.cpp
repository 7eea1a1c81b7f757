// Where one load ends and the next begins.
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

Diagnosis diagnosis_of(const std::string& text) { return diagnose(log_stream(text), {}); }

std::uint64_t value_of(const Diagnosis& found, std::string_view name) {
    const LogFigure* figure = found.figure(name);
    return figure == nullptr ? 0 : figure->value;
}

const std::string build = "build: 6690 (f5e96b36) with cc (Debian 12.2.0-14) 12.2.0 for x86_64-linux-gnu\n";
const std::string device = "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 11800 MiB "
                           "free\n";
const std::string loader = "llama_model_loader: loaded meta data with 33 key-value pairs and 292 tensors from x.gguf "
                           "(version GGUF V3 (latest))\n";
const std::string weights = "load_tensors: offloaded 33/33 layers to GPU\n"
                            "load_tensors:        CUDA0 model buffer size =  4403.00 MiB\n";
const std::string fails =
    "llama_context: n_ctx         = 131072\n"
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of "
    "memory\n"
    "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
const std::string gave_up = "main: exiting due to model loading error\n";
const std::string fails_at_64k =
    "llama_context: n_ctx         = 65536\n"
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory\n"
    "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
const std::string works = "llama_context: n_ctx         = 8192\n"
                          "llama_kv_cache:      CUDA0 KV buffer size =  1024.00 MiB\n"
                          "main: server is listening on http://127.0.0.1:8080 - starting the main loop\n";

} // namespace

TEST_CASE("a second load without a header has its own figures", "[diagnose]") {
    const std::string prompt = "me@box:~$ ./build/bin/llama-server -m x.gguf -c 65536\n";
    for (const std::string& second : {build + device + loader, device + loader, loader, std::string()}) {
        for (const std::string& between : {std::string(), gave_up, prompt, gave_up + prompt}) {
            const Diagnosis found =
                diagnosis_of(device + loader + weights + fails + between + second + weights + fails_at_64k);
            CHECK(found.oom);
            CHECK(value_of(found, "n_ctx") == 65536);
            CHECK(value_of(found, "requested") == 8192 * mib);
            CHECK(value_of(found, "weights") == 4403 * mib);
        }
    }
}

TEST_CASE("a failed load keeps its figures when the next one works", "[diagnose]") {
    const std::string prompt = "root@box:/srv# llama-server -m x.gguf -c 8192\n";
    for (const std::string& second : {build + device + loader, device + loader, loader, std::string()}) {
        for (const std::string& between : {std::string(), gave_up, prompt, gave_up + prompt}) {
            const Diagnosis found =
                diagnosis_of(device + loader + weights + fails + between + second + weights + works);
            CHECK(found.oom);
            CHECK(found.stage == FailureStage::kv_cache);
            CHECK(value_of(found, "n_ctx") == 131072);
            CHECK(value_of(found, "requested") == 16384 * mib);
            CHECK(value_of(found, "weights") == 4403 * mib);
            CHECK(value_of(found, "kv_cache") == 0);
            CHECK(std::ranges::any_of(
                found.notes, [](const std::string& note) { return note.find("a later load") != std::string::npos; }));
        }
    }
}

TEST_CASE("a command below a log is the one that wrote it", "[diagnose]") {
    const Diagnosis found = diagnosis_of("llama_init_from_model: failed to initialize the context: failed to allocate "
                                         "buffer for kv cache\n"
                                         "$ llama-server -m x.gguf -c 65536\n");
    CHECK(found.oom);
    CHECK(value_of(found, "n_ctx") == 65536);
}

TEST_CASE("Ollama's engine prints its layers once for each try of one load", "[diagnose]") {
    const std::string layers =
        "time=2025-10-02T10:00:00Z level=INFO source=ggml.go:487 msg=\"offloaded 33/33 layers to "
        "GPU\"\n";
    const Diagnosis found = diagnosis_of(
        layers +
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: "
        "out of memory\nggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 17179869184\n" +
        layers +
        "time=2025-10-02T10:00:09Z level=INFO source=server.go:1289 msg=\"llama runner started in 9.00 "
        "seconds\"\n");
    CHECK(!found.oom);
}

TEST_CASE("options of a command line, with their values behind a blank or an equals sign", "[diagnose]") {
    const std::string failure =
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
    for (const char* const said : {"--ctx-size 131072 --parallel 2", "--ctx-size=131072 --parallel=2"}) {
        const Diagnosis found = diagnosis_of("$ llama-server -m x.gguf " + std::string(said) + "\n" + failure);
        CHECK(value_of(found, "n_ctx") == 131072);
        CHECK(value_of(found, "n_parallel") == 2);
    }
}
