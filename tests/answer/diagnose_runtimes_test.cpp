// What single runtimes print of their failures, and what is advised in their words.
#include "catch.hpp"
#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

using Flags = std::vector<std::string>;

Diagnosis diagnosis_of(const std::string& text) { return diagnose(log_stream(text), {}); }

/// The flags of the first action of a kind.
Flags flags_for(const Diagnosis& found, std::string_view kind) {
    const auto action = std::ranges::find(found.actions, kind, &DiagnosisAction::kind);
    return action == found.actions.end() ? Flags() : action->flags;
}

std::uint64_t value_of(const Diagnosis& found, std::string_view name) {
    const LogFigure* figure = found.figure(name);
    return figure == nullptr ? 0 : figure->value;
}

const std::string retry = "level=WARN source=llama_server.go:318 msg=\"llama-server load failed; reducing automatic "
                          "context and retrying once\" old_num_ctx=32768 new_num_ctx=16384 "
                          "error=\"llama-server process has terminated: exit status 1: cudaMalloc failed: out of "
                          "memory\\nfailed to allocate buffer for kv cache\"\n";

} // namespace

TEST_CASE("Ollama's retry that fails, too, is the failure", "[diagnose]") {
    const std::string error =
        "level=ERROR source=sched.go:500 msg=\"error loading llama server\" error=\"llama-server process has "
        "terminated: exit status 1: cudaMalloc failed: out of memory\\nalloc_tensor_range: failed to allocate CUDA0 "
        "buffer of size 4294967296\\nfailed to allocate buffer for kv cache\"\n";
    const Diagnosis found = diagnosis_of(retry + error);
    CHECK(found.oom);
    CHECK(found.runtime == LogRuntime::ollama);
    CHECK(found.stage == FailureStage::kv_cache);
    CHECK(found.device == "CUDA0");
    CHECK(value_of(found, "requested") == 4 * gib);
    CHECK(value_of(found, "n_ctx") == 16384);
    CHECK(flags_for(found, "ctx") == Flags{"OLLAMA_CONTEXT_LENGTH=8192"});
}

TEST_CASE("Ollama's retry that works is no failure", "[diagnose]") {
    CHECK(!diagnosis_of(retry).oom);
    CHECK(!diagnosis_of(retry + "level=INFO source=server.go:1390 msg=\"llama runner started in 2.41 seconds\"\n").oom);
}

TEST_CASE("Ollama's context is that of one request, its runner's that of all", "[diagnose]") {
    // 12083.2 MiB of the card less 204.8 in use and 4403.49 of weights are 7474.9; with 512 MiB for the compute buffer
    // 6962.9 of 16384 MiB: 55703 tokens, 53248 in steps of 4096, 13312 for each of four.
    const Diagnosis found = diagnosis_of(
        "level=INFO source=types.go:130 msg=\"inference compute\" library=cuda name=\"NVIDIA GeForce RTX 3060\" "
        "total=\"11.8 GiB\" available=\"11.6 GiB\"\n"
        "level=INFO source=server.go:380 msg=\"starting llama server\" cmd=\"/usr/lib/runners/cuda_v12/"
        "ollama_llama_server runner --model /m/x --ctx-size 131072 --batch-size 512 --n-gpu-layers 33 --parallel 4\"\n"
        "llm_load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "llama_kv_cache_init: failed to allocate buffer for kv cache\n");
    CHECK(value_of(found, "n_ctx") == 131072);
    CHECK(value_of(found, "n_parallel") == 4);
    CHECK(flags_for(found, "ctx") == Flags{"OLLAMA_CONTEXT_LENGTH=13312"});
    CHECK(std::ranges::find(found.notes, "Ollama multiplies the context by its 4 parallel requests") !=
          found.notes.end());
}

TEST_CASE("SGLang captures its graphs at the start: smaller batches, a smaller share", "[diagnose]") {
    const std::string start =
        "[2025-06-01 10:00:00] server_args=ServerArgs(model_path='org/x-8B', mem_fraction_static=0.75, "
        "chunked_prefill_size=8192, cuda_graph_max_bs=24, disable_cuda_graph=False)\n"
        "[2025-06-01 10:00:12 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=2.50 GB\n"
        "[2025-06-01 10:00:15 TP0] Scheduler hit an exception: Traceback (most recent call last):\n";
    const std::string error =
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 594.00 MiB. GPU 1 has a total capacity of 23.64 "
        "GiB of which 130.00 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use.\n";
    const std::string end = "Exception: Capture CUDA graph failed: CUDA out of memory. Tried to allocate 594.00 MiB.\n"
                            "Possible solutions:\n";
    for (const std::string& log :
         {start + error + end, start + "Exception: Capture cuda graph failed: CUDA out of memory\n"}) {
        const Diagnosis found = diagnosis_of(log);
        CHECK(found.runtime == LogRuntime::sglang);
        CHECK(found.stage == FailureStage::compute);
        CHECK(flags_for(found, "graphs") == Flags{"--cuda-graph-max-bs", "12"}); // half of what it was
        CHECK(flags_for(found, "utilization") == Flags{"--mem-fraction-static", "0.70"});
    }
    CHECK(diagnosis_of(start + error + end).device == "GPU 1");
    CHECK(value_of(diagnosis_of(start + error + end), "requested") == 594 * mib);
}

TEST_CASE("SGLang's share gets smaller where what runs needs room", "[diagnose]") {
    // 4096 - 512 of 24576 MiB are missing: 0.1458, with 0.01 to spare 0.1558; 0.70 - 0.1558 = 0.5442
    const Diagnosis found = diagnosis_of(
        "server_args=ServerArgs(model_path='org/x-8B', mem_fraction_static=0.7, chunked_prefill_size=8192)\n"
        "sglang.srt.managers: The server is fired up and ready to roll!\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4096.00 MiB. GPU 0 has a total capacity of "
        "24.00 GiB of which 512.00 MiB is free.\n");
    CHECK(found.stage == FailureStage::generation);
    CHECK(flags_for(found, "utilization") == Flags{"--mem-fraction-static", "0.54"});
}

TEST_CASE("the device of a CUDA error stands below it", "[diagnose]") {
    const std::string error = "CUDA error: out of memory\n  current device: 1, in function alloc at ggml-cuda.cu:489\n";
    CHECK(diagnosis_of(error).device == "CUDA1");
    CHECK(diagnosis_of("ROCm" + error.substr(4)).device == "ROCm1");
}

TEST_CASE("a log that does not show when it failed does not say that it generated", "[diagnose]") {
    const std::string error = "CUDA error: out of memory\n  current device: 0, in function alloc at ggml-cuda.cu:489\n";
    const Diagnosis alone = diagnosis_of(error);
    CHECK(!alone.time_known);
    CHECK(alone.summary.find("does not show whether it had loaded") != std::string::npos);
    CHECK(!diagnosis_of("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
                        "capacity of 24.00 GiB of which 512.00 MiB is free.\n")
               .time_known);
    CHECK(diagnosis_of("main: server is listening on http://127.0.0.1:8080\n" + error).time_known);
}

TEST_CASE("the context of a slot counts where no other is shown", "[diagnose]") {
    const std::string error = "main: server is listening on http://127.0.0.1:8080\nCUDA error: out of memory\n";
    const Diagnosis two = diagnosis_of("llama_context: n_ctx_seq (4096) < n_ctx_train (131072) -- the full capacity\n"
                                       "srv          init: initializing slots, n_slots = 2\n" +
                                       error);
    CHECK(value_of(two, "n_ctx") == 8192);
    CHECK(flags_for(two, "ctx") == Flags{"-c", "4096"});
    const Diagnosis one = diagnosis_of(error + "slot update_slots: id  0 | task 0 | new prompt, n_ctx_slot = 6144\n");
    CHECK(value_of(one, "n_ctx") == 6144);
    CHECK(flags_for(one, "ctx") == Flags{"-c", "3072"});
    const Diagnosis shared =
        diagnosis_of("slot   load_model: id  0 | task -1 | new slot, n_ctx = 32768\n" + error +
                     "srv: n_parallel is set to auto, using n_parallel = 4 and kv_unified = true\n");
    CHECK(value_of(shared, "n_ctx") == 32768);
}
