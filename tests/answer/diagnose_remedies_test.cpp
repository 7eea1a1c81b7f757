// What to do about failures whose remedy is one setting of the runtime, and what a report leaves out of its lines.
#include "answer/diagnose/wrapped_lines.hpp"
#include "catch.hpp"
#include "cli/render_diagnosis.hpp"
#include "support/log_stream.hpp"
#include "support/near.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::log_stream;

namespace {

using Flags = std::vector<std::string>;

Diagnosis diagnosis_of(const std::string& text) { return diagnose(log_stream(text), {}); }

bool any_has(const std::vector<std::string>& texts, std::string_view part) {
    return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

bool advises(const Diagnosis& found, const Flags& flags) {
    return std::ranges::any_of(found.actions, [&](const DiagnosisAction& action) { return action.flags == flags; });
}

std::string torch(const std::string& platform, const std::string& asked, const std::string& slack) {
    return "torch.OutOfMemoryError: " + platform + " out of memory. Tried to allocate " + asked +
           ". GPU 0 has a total capacity of 23.64 GiB of which 300.00 MiB is free. Including non-PyTorch memory, this "
           "process has 23.30 GiB memory in use. Of the allocated memory 14.20 GiB is allocated by PyTorch, and " +
           slack + " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting\n";
}

} // namespace

TEST_CASE("memory in pieces: PyTorch's own figures tell", "[diagnose]") {
    const Diagnosis found = diagnosis_of(torch("CUDA", "1.00 GiB", "8.50 GiB"));
    REQUIRE(!found.actions.empty());
    CHECK(found.actions[0].flags == Flags{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"});
    CHECK(any_has(found.arithmetic, "reserved by PyTorch and not used: 8704 MiB")); // 8.5 * 1024
    CHECK(!any_has(found.notes, "not fragmentation"));
    CHECK(advises(diagnosis_of(torch("HIP", "1.00 GiB", "8.50 GiB")),
                  {"PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"}));
    // 300 MiB free and 724 MiB in pieces are 1 GiB; one less are not
    CHECK(advises(diagnosis_of(torch("CUDA", "1024.00 MiB", "724.00 MiB")),
                  {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}));
    const Diagnosis too_little = diagnosis_of(torch("CUDA", "1024.00 MiB", "723.00 MiB"));
    CHECK(!advises(too_little, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}));
    CHECK(any_has(too_little.notes, "not fragmentation"));
}

TEST_CASE("memory in pieces, in PyTorch's older words", "[diagnose]") {
    // reserved 9 GiB, of them 5 allocated: 4 GiB in pieces
    const Diagnosis found = diagnosis_of(
        "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; 5.00 GiB "
        "already allocated; 512.00 MiB free; 9.00 GiB reserved in total by PyTorch)\n");
    REQUIRE(found.figure("slack") != nullptr);
    CHECK(found.figure("slack")->value == 4 * gib);
    CHECK(advises(found, {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}));
}

TEST_CASE("LM Studio's estimate is of the whole model, in the log's unit", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("Model loading was stopped due to insufficient system resources. Under the current settings, this "
                     "model requires "
                     "approximately 21.50 GB of memory, and continuing to load it would likely overload your system\n");
    CHECK(found.summary.find("21.50 GB in all") != std::string::npos);
    CHECK(found.summary.find("weights") == std::string::npos);
    REQUIRE(found.figure("requested") != nullptr);
    CHECK(test::near(static_cast<double>(found.figure("requested")->value), 21.5e9, 10));
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[0].flags == Flags{"--context-length", "4096"});
    CHECK(found.actions[1].kind == "setting");
}

TEST_CASE("vLLM's share at start is not the weights", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("ValueError: Free memory on device (20.51/23.64 GiB) on startup is less than desired GPU memory "
                     "utilization (0.9, 21.28 GiB). Decrease GPU memory utilization or reduce\n");
    CHECK(found.summary.find("share of the card") != std::string::npos);
    CHECK(found.summary.find("weights") == std::string::npos);
    CHECK(advises(found, {"--gpu-memory-utilization", "0.86"})); // 20.51 / 23.64 = 0.8676
}

TEST_CASE("another card is advised where there is one", "[diagnose]") {
    const std::string others = " has a total capacity of 23.64 GiB of which 512.00 MiB is free. Including non-PyTorch "
                               "memory, this process has 14.90 GiB memory in use. Of the allocated memory 14.20 GiB is "
                               "allocated by PyTorch, and 250.00 MiB is reserved by PyTorch but unallocated.\n";
    const std::string asked = "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU ";
    const Diagnosis first = diagnosis_of(asked + "0" + others), second = diagnosis_of(asked + "1" + others);
    CHECK(first.cause == FailureCause::other_process);
    CHECK(!std::ranges::any_of(first.actions, [](const DiagnosisAction& action) { return action.kind == "gpu"; }));
    CHECK(advises(second, {"CUDA_VISIBLE_DEVICES=0"}));
}

TEST_CASE("a compute buffer above the limit of one buffer wants smaller batches", "[diagnose]") {
    const std::string log = "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0 | fp16: 1\n"
                            "llama_context: n_ctx         = 65536\n"
                            "ggml_vulkan: Device memory allocation of size 5368709120 failed.\n"
                            "ggml_vulkan: Requested buffer size exceeds device buffer size limit: "
                            "ErrorOutOfDeviceMemory\n"
                            "ggml_gallocr_reserve_n: failed to allocate Vulkan0 buffer of size 5368709120\n"
                            "graph_reserve: failed to allocate compute buffers\n";
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.cause == FailureCause::per_buffer_limit);
    REQUIRE(found.actions.size() == 2);
    CHECK(found.actions[0].flags == Flags{"-ub", "256"});
    CHECK(found.actions[1].flags == Flags{"-fa", "on"});
}

TEST_CASE("the Mac's limit is a number where the log shows what the Mac has", "[diagnose]") {
    const auto log = [](const std::string& limit) {
        return "ggml_metal_init: recommendedMaxWorkingSetSize  = " + limit +
               " MB\nload_tensors: Metal_Mapped model buffer size = 4403.49 MiB\nllama_context: n_ctx = 32768\n"
               "main: server is listening on http://127.0.0.1:8080\nggml_metal_graph_compute: command buffer 0 failed "
               "with status 5\nerror: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n";
    };
    // 11453.25 MB are two thirds of 16 GiB; of those, an eighth or 2 GiB stay for macOS
    CHECK(advises(diagnosis_of(log("11453.25")), {"sudo", "sysctl", "iogpu.wired_limit_mb=14336"}));
    const Diagnosis unknown = diagnosis_of(log("9999.00"));
    for (const DiagnosisAction& action : unknown.actions) CHECK(!any_has(action.flags, "wired_limit_mb"));
}

TEST_CASE("mlx_lm's command line names the model", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "mlx_lm.generate --model mlx-community/Qwen2.5-32B-Instruct-4bit\n[METAL] Command buffer execution "
        "failed: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n");
    CHECK(found.model_id == "qwen2.5-32b");
    CHECK(std::ranges::find(found.missing, "--model") == found.missing.end());
}

TEST_CASE("Ollama's slots are among what can be changed", "[diagnose]") {
    const std::string log =
        "time=2025-02-11T00:42:40Z level=INFO source=types.go:130 msg=\"inference compute\" id=GPU-aabbccdd "
        "library=cuda "
        "name=\"NVIDIA GeForce RTX 3060\" total=\"11.8 GiB\" available=\"11.6 GiB\"\n"
        "llama_new_context_with_model: n_seq_max     = 4\nllama_new_context_with_model: n_ctx         = 131072\n"
        "alloc_tensor_range: failed to allocate CUDA0 buffer of size 17179869184\n"
        "llama_kv_cache_init: failed to allocate buffer for kv cache\n";
    CHECK(advises(diagnosis_of(log), {"OLLAMA_NUM_PARALLEL=1"}));
}

TEST_CASE("a model known by its shape alone is no fact", "[diagnose]") {
    const std::string shape =
        "print_info: arch             = llama\nprint_info: n_ctx_train      = 131072\nprint_info: n_embd           = "
        "4096\nprint_info: n_layer          = 32\nprint_info: n_head           = 32\nprint_info: n_head_kv        = 8\n"
        "print_info: n_vocab          = 128256\nprint_info: model params     = 8.03 B\n";
    const std::string end = "alloc_tensor_range: failed to allocate CUDA0 buffer of size 17179869184\n"
                            "llama_kv_cache_init: failed to allocate buffer for kv cache\n";
    const Diagnosis guessed = diagnosis_of(shape + end);
    CHECK(guessed.model_id.empty());
    CHECK(!guessed.model_guess.empty());
    const std::string text = cli::render_diagnosis_text(guessed, cli::Terminal(false, [](const char*) { return ""; }));
    CHECK(text.find("the shape of " + guessed.model_guess) != std::string::npos);
    const Diagnosis named = diagnosis_of(shape + "print_info: general.name     = Meta Llama 3.1 8B Instruct\n" + end);
    CHECK(named.model_id == "llama3.1-8b");
    CHECK(named.model_guess.empty());
}

TEST_CASE("lines of one length are two lines where the second begins one", "[diagnose][wrapping]") {
    std::string log;
    for (int i = 0; i < 10; ++i) log += "load_tensors:        CUDA0 model buffer size =  4403.49 MiB\n";
    log += "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of "
           "memory\nalloc_tensor_range: failed to allocate CUDA0 buffer of size 17179869184\n"
           "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n";
    WrappedLines lines(log_stream(log));
    std::size_t n = 0;
    for (std::string_view line; lines.next(line); ++n) CHECK(line.find("memoryalloc") == std::string_view::npos);
    CHECK(n == 13);
}

TEST_CASE("a long line says where it was cut", "[diagnose]") {
    const Diagnosis found =
        diagnosis_of("llama_init_from_model: failed to allocate buffer for kv cache " + std::string(600, 'x') + "\n");
    REQUIRE(!found.evidence.empty());
    CHECK(found.evidence.back().text.ends_with("xx\u2026"));
}

TEST_CASE("names of users and hosts are hidden wherever a report repeats them", "[diagnose]") {
    const std::string log = "File \"/home/zoe/app/run.py\", line 3\nsaved in C:\\Users\\Jo Smith\\x\n"
                            "Dec 01 10:00:02 gpubox17 ollama[12]: llama_init_from_model: failed to allocate buffer for "
                            "kv cache for zoe and "
                            "Smith on gpubox17, not zoey\n";
    const std::string report = cli::render_report(diagnosis_of(log));
    CHECK(report.find("kv cache for NAME and NAME on NAME, not zoey") != std::string::npos);
    CHECK(report.find("gpubox17") == std::string::npos);
    CHECK(redacted("ollama on box", {"ollama", "box"}) == "ollama on NAME"); // a service's user is nobody's name
    CHECK(redacted("curl -u jo:secret gpu-box.lan:8080/v1") == "curl -u USER:KEY HOST/v1");
}
