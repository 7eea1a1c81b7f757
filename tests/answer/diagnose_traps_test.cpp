// What looks like one thing in a log and is another.
#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

const std::string ready = "main: server is listening on http://127.0.0.1:8080 - starting the main loop\n";

Diagnosis read(const std::string& log) { return diagnose(log_stream(log), {}); }

std::string runtime_of(const std::string& log) { return std::string(name_of(read(log).runtime)); }

bool is_failure(const std::string& log) {
    const Diagnosis found = read(log);
    return found.oom || found.cause != FailureCause::none;
}

} // namespace

TEST_CASE("a folder's name does not tell the runtime", "[diagnose][traps]") {
    const std::string tensors = "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n";
    for (const std::string path : {"/home/x/.lmstudio/models/lmstudio-community/a.gguf", "/opt/koboldcpp/models/a.gguf",
                                   "/Applications/LM Studio.app/a.gguf", "C:\\KoboldCpp\\a.gguf",
                                   "/srv/vllm/models/a.gguf", "/srv/sglang/srt/a.gguf", "/mlx_lm/a.gguf"})
        CHECK(path + runtime_of("srv load_model: loading model '" + path + "'\n" + tensors) == path + "llama.cpp");
    const std::string torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a "
                              "total capacity of 23.64 GiB of which 512.00 MiB is free.\n";
    CHECK(runtime_of("  File \"/home/x/vllm/test.py\", line 3, in <module>\n" + torch) == "pytorch");
    CHECK(runtime_of("  File \"/v/lib/python3/site-packages/vllm/worker/worker.py\", line 223, in x\n" + torch) ==
          "vllm");
    CHECK(runtime_of("  File \"/sgl-workspace/sglang/python/sglang/srt/server.py\", line 9, in x\n" + torch) ==
          "sglang");
    CHECK(runtime_of("[LM Studio] loading\n" + tensors) == "lmstudio");
    CHECK(runtime_of("Welcome to KoboldCpp - Version 1.99\n" + tensors) == "koboldcpp");
}

TEST_CASE("pinned memory that cannot be had is no failure", "[diagnose][traps]") {
    const std::string pinned = "ggml_cuda_host_malloc: failed to allocate 512.00 MiB of pinned memory: out of memory\n";
    CHECK_FALSE(is_failure(pinned));
    CHECK_FALSE(is_failure(pinned + ready));
}

TEST_CASE("what people write about is no failure", "[diagnose][traps]") {
    const std::string words = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB";
    CHECK_FALSE(is_failure(ready +
                           "srv  log_server_r: request:  {\"messages\":[{\"role\":\"user\",\"content\":\"Why? " +
                           words + "\"}]}\n"));
    CHECK_FALSE(is_failure("  \"content\": \"ggml_backend_cuda: failed to allocate buffer for kv cache\",\n" + ready));
    CHECK_FALSE(is_failure("INFO 12-11 00:06:53 [logger.py:1] Received request cmpl-1: prompt: '" + words + "'\n"));
    CHECK_FALSE(is_failure("time=2025-03-01T10:00:00Z level=DEBUG source=routes.go:1 msg=\"chat request\" "
                           "prompt=\"<|user|> CUDA error: out of memory\"\n"));
    CHECK_FALSE(is_failure(ready + "user: I saw CUDA error: out of memory yesterday\n"));
    // A server's answer that says it is the server's own failure.
    CHECK(is_failure("{\"error\":{\"code\":500,\"message\":\"CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has "
                     "a total capacity of 23.64 GiB of which 1.00 GiB is free\"}}\n"));
}

TEST_CASE("a load that failed and came up with the same settings was retried", "[diagnose][traps]") {
    const auto load = [](const std::string& free, const std::string& n_ctx, bool good) {
        return "main: build = 6000 (abcdef) with cc for x86_64-linux-gnu\n"
               "srv load_model: loading model '/models/a.gguf'\n"
               "llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) - " +
               free +
               " MiB free\nload_tensors: CUDA0 model buffer size = 4403.49 MiB\nllama_context: n_ctx = " + n_ctx +
               "\n" +
               (good ? "llama_kv_cache: CUDA0 KV buffer size = 4096.00 MiB\n" + ready
                     : "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc "
                       "failed: out of memory\n"
                       "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv "
                       "cache\nsrv llama_server: exiting due to model loading error\n");
    };
    const Diagnosis retried = read(load("6000", "32768", false) + load("23000", "32768", true));
    CHECK_FALSE(retried.oom);
    CHECK(retried.cause == FailureCause::none);
    REQUIRE(retried.figure("free") != nullptr);
    CHECK(retried.figure("free")->value == 23000 * mib); // of the load that came up
    // With another context it is another question, and the answer keeps to the load that failed.
    const Diagnosis changed = read(load("6000", "32768", false) + load("23000", "4096", true));
    CHECK(changed.oom);
    REQUIRE(changed.figure("free") != nullptr);
    CHECK(changed.figure("free")->value == 6000 * mib);
    CHECK(changed.figure("n_ctx")->value == 32768);
    // Twice the same failure, and the last load fails: it counts.
    CHECK(read(load("23000", "32768", true) + load("6000", "32768", false)).oom);
}

TEST_CASE("a program or an archive is no log", "[diagnose][traps]") {
    std::string program = "\x7f"
                          "ELF";
    for (int i = 0; i < 4000; ++i) program += static_cast<char>(i * 7 % 32);
    CHECK_THROWS_WITH(read(program), "the log holds no text but binary data; give what the program printed");
    CHECK_THROWS_AS(read(""), Error);
    CHECK_THROWS_AS(read("\n\n\n"), Error);
}

TEST_CASE("the table of ollama ps is read behind any prefix", "[diagnose][traps]") {
    const std::string header = "NAME         ID              SIZE     PROCESSOR          CONTEXT    UNTIL\n";
    const std::string row = "qwen3:32b    030ee887880f    27 GB    38%/62% CPU/GPU    8192       4 minutes from now\n";
    for (const std::string prefix : {"", "Sep 11 00:42:50 host sh[31]: ", "web-1  | ", "2026-05-14T22:14:30.995Z ",
                                     "2026-05-14T22:14:30.995Z stdout F ", "> "}) {
        const Diagnosis found = read(prefix + header + prefix + row);
        CHECK(prefix + found.model_name == prefix + "qwen3:32b");
        CHECK(found.runtime == LogRuntime::ollama);
        REQUIRE(found.figure("n_ctx") != nullptr);
        CHECK(found.figure("n_ctx")->value == 8192);
    }
}
