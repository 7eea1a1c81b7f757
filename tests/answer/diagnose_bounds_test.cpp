// What a diagnosis must not do: blame the wrong program, advise more where less is meant, or take long over a line.
#include "catch.hpp"
#include "support/diagnosed.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::diagnosis_of;
using vramfit::test::figure;
using vramfit::test::found_in;
using vramfit::test::log_stream;
using vramfit::test::notes;

namespace {

using Flags = std::vector<std::string>;

bool advises(const Diagnosis& found, const Flags& flags) {
    return std::ranges::any_of(found.actions, [&](const DiagnosisAction& action) { return action.flags == flags; });
}

bool advises_any(const Diagnosis& found, const std::string& flag) {
    return std::ranges::any_of(found.actions, [&](const DiagnosisAction& action) {
        return std::ranges::find(action.flags, flag) != action.flags.end();
    });
}

std::string killed(const std::string& name, const std::string& kib) {
    return "kernel: Out of memory: Killed process 4242 (" + name + ") total-vm:1kB, anon-rss:" + kib +
           "kB, file-rss:0kB, shmem-rss:0kB\n";
}

const std::string loaded = "llama_model_loader: loaded meta data with 29 key-value pairs and 292 tensors from x.gguf "
                           "(version GGUF V3 (latest))\n"
                           "load_tensors:      CUDA0 model buffer size =  7605.33 MiB\n"
                           "main: server is listening on http://127.0.0.1:8080\n";

} // namespace

TEST_CASE("another program's end is not this one's", "[diagnose]") {
    const Diagnosis found = diagnosis_of(loaded + killed("chrome", "2345678"));
    CHECK(!found.oom);
    CHECK(notes(found, "ended another program, chrome"));
    CHECK(found.figure("own") == nullptr);
    CHECK(diagnosis_of(loaded + killed("llama-server", "2345678")).oom);
    CHECK(diagnosis_of(killed("chrome", "2345678")).oom); // of a log that shows no other program
}

TEST_CASE("what the program held is its own figure, whoever is ended after it", "[diagnose]") {
    const Diagnosis found = diagnosis_of(killed("llama-server", "31234567") + killed("python3", "2048"));
    CHECK(figure(found, "own") == 31234567 * kib);
}

TEST_CASE("what was asked of the GPU is not what the system ended the program for", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 30000.00 MiB on device "
                     "0: cudaMalloc failed: out of memory\n" +
                     killed("llama-server", "31234567"));
    CHECK(found.cause == FailureCause::host_memory);
    CHECK(found.figure("requested") == nullptr);
}

TEST_CASE("less is less than what is in effect, and more GPUs are more", "[diagnose]") {
    const auto vllm = [](const std::string& arguments) {
        return "INFO non-default args: {'model': 'org/x', " + arguments +
               "}\n"
               "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\n";
    };
    const Diagnosis split = diagnosis_of(vllm("'tensor_parallel_size': 4, 'gpu_memory_utilization': 0.99"));
    CHECK(!advises(split, {"--tensor-parallel-size", "2"}));
    CHECK(advises(split, {"--tensor-parallel-size", "8"}));

    const std::string grows =
        "INFO non-default args: {'model': 'org/x', 'max_num_seqs': 16}\n"
        "INFO Application startup complete.\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 23.64 GiB of which 300.00 MiB is free.\n";
    CHECK(advises(diagnosis_of(grows), {"--max-num-seqs", "8"})); // half of 16

    const std::string batch = "llama_context: n_ubatch      = 128\n" + loaded + "CUDA error: out of memory\n";
    CHECK(advises(diagnosis_of(batch), {"-ub", "64"}));
}

TEST_CASE("a share of the card that holds no model is no advice", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "ValueError: Free memory on device cuda:0 (0.2/23.6 GiB) on startup is less than desired GPU memory "
        "utilization "
        "(0.9, 21.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n");
    CHECK(found.cause == FailureCause::other_process);
    CHECK(!advises_any(found, "--gpu-memory-utilization"));
}

TEST_CASE("figures that no computer has make no nonsense", "[diagnose]") {
    const Diagnosis found = diagnosis_of("INFO non-default args: {'model': 'org/x', 'max_model_len': 50000000, "
                                         "'gpu_memory_utilization': 0.0}\n"
                                         "INFO Available KV cache memory: 1000.00 GiB\n"
                                         "INFO GPU KV cache size: 1 tokens\n"
                                         "ValueError: The model's max seq len (50000000) is larger than the maximum "
                                         "number of tokens that can be stored in KV cache (1).\n");
    CHECK(found.oom);
    for (const std::string& line : found.arithmetic) CHECK(line.find("-") == std::string::npos);
}

TEST_CASE("the time of a failure is known where there is none, and once it is", "[diagnose]") {
    CHECK(diagnosis_of(loaded).time_known);
    const Diagnosis found = diagnosis_of(
        "llama_context: n_ctx         = 8192\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 0: cudaMalloc failed: "
        "out of memory\n"
        "llama_kv_cache: failed to allocate buffer for kv cache\n"
        "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n");
    CHECK(found.stage == FailureStage::kv_cache);
    CHECK(found.time_known);
}

TEST_CASE("a long value of a command is whole or not there", "[diagnose]") {
    std::string blocks = "0";
    for (int i = 1; i < 75; ++i) blocks += "|" + std::to_string(i);
    const std::string pattern = "blk\\.(" + blocks + ")\\.ffn_.*=CPU"; // 235 characters
    Request hints;
    hints.model = "qwen3-30b-a3b";
    hints.quant = "q4_k_m";
    hints.gpus = {"24GB"};
    const std::string log = "$ llama-server -m x.gguf -c 8192 -ot \"" + pattern + "\"\n" + loaded;
    CHECK_NOTHROW(compare(log_stream(log), hints));
}

TEST_CASE("of a line that is nothing but keywords, so many count", "[diagnose]") {
    std::string many;
    for (int i = 0; i < 64; ++i) many += "KV self size ";
    CHECK(found_in(many + "failed to allocate KV cache\n") == "none");
    CHECK(found_in("KV self size failed to allocate KV cache\n") != "none");
}
