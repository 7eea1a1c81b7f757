// Programs that are known by what they print, where their names do not show; and training.
#include "catch.hpp"
#include "support/diagnosed.hpp"

#include <algorithm>

using namespace vramfit;
using vramfit::test::diagnosis_of;
using vramfit::test::found_in;
using vramfit::test::notes;

namespace {

using Flags = std::vector<std::string>;

bool advises(const Diagnosis& found, const Flags& flags) {
    return std::ranges::any_of(found.actions, [&](const DiagnosisAction& action) { return action.flags == flags; });
}

} // namespace

TEST_CASE("KoboldCpp is known by its words and by where its errors come from", "[diagnose]") {
    const std::string works = "Processing Prompt [BLAS] (3584 / 5525 tokens)CUDA error: out of memory\n"
                              "  current device: 0, in function ggml_cuda_pool_malloc_vmm at ggml-cuda.cu:7184\n";
    CHECK(found_in(works) == "koboldcpp generation generation_growth CUDA0");
    const Diagnosis working = diagnosis_of(works);
    CHECK(working.time_known); // it works on a prompt
    CHECK(advises(working, {"--blasbatchsize", "256"}));

    const std::string predicts = "error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n"
                                 "llama_decode: failed to decode, ret = -3\n\n"
                                 "Failed to predict at 43! Check your context buffer sizes!\n";
    CHECK(found_in(predicts) == "koboldcpp generation generation_growth Metal");
    CHECK(diagnosis_of(predicts).time_known);

    const std::string place = "CUDA error 2 at D:\\a\\koboldcpp\\koboldcpp\\ggml-cuda.cu:5871: out of memory\n";
    CHECK(diagnosis_of(place).runtime == LogRuntime::koboldcpp);
    CHECK(!diagnosis_of(place).time_known);
}

TEST_CASE("training is told from generation, and not advised as such", "[diagnose]") {
    const std::string log =
        "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs = 1\n"
        "OutOfMemoryError                          Traceback (most recent call last)\n"
        "----> 1 trainer_stats = trainer.train()\n"
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 9.47 GiB. GPU 0 has a total capacity of 14.75 GiB of "
        "which 3.78 GiB is free. Process 2116 has 10.95 GiB memory in use. Of the allocated memory 9.85 GiB is "
        "allocated "
        "by PyTorch, and 950.50 MiB is reserved by PyTorch but unallocated.\n";
    CHECK(found_in(log) == "pytorch compute compute_too_large GPU 0");
    const Diagnosis found = diagnosis_of(log);
    CHECK(found.training);
    CHECK(found.summary.starts_with("Training found no memory (9697 MiB)"));
    CHECK(advises(found, {"per_device_train_batch_size=1", "gradient_accumulation_steps=8"}));
    CHECK(found.missing.empty()); // no estimator knows of training
    CHECK(!notes(found, "while generating"));
}

TEST_CASE("ROCm's builds speak of CUDA: the list of devices tells", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "ggml_cuda_init: found 1 ROCm devices:\n"
        "  Device 0: AMD Radeon(TM) Graphics, gfx1151 (0x1151), VMM: no, Wave Size: 32\n"
        "Available devices:\n"
        "  ROCm0: AMD Radeon(TM) Graphics (110511 MiB, 110357 MiB free)\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 98988.40 MiB on device 0: cudaMalloc failed: out of "
        "memory\n");
    CHECK(found.device == "ROCm0");
    CHECK(found.cause == FailureCause::other_process); // 98988 of 110357 MiB: not the size
}

TEST_CASE("copies for pipeline parallelism are named where a compute buffer is refused", "[diagnose]") {
    const Diagnosis found = diagnosis_of(
        "llama_new_context_with_model: KV self size  = 1005.79 MiB, c^KV (f16): 1005.79 MiB, kv^T (f16):    0.00 MiB\n"
        "llama_new_context_with_model: pipeline parallelism enabled (n_copies=4)\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 279356.51 MiB on device 0: cudaMalloc failed: out of "
        "memory\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 292926534144\n"
        "llama_new_context_with_model: failed to allocate compute buffers\n");
    CHECK(notes(found, "4 copies"));
    REQUIRE(!found.actions.empty());
    CHECK(found.actions[0].flags == Flags{"-DGGML_SCHED_MAX_COPIES=1"});
    // Latent attention keeps no V.
    CHECK(std::ranges::find(found.settings, "cache_type_v", &LogSetting::name) == found.settings.end());
}

TEST_CASE("SGLang's words of 2026, and LMCache's, which are no failure", "[diagnose]") {
    CHECK(found_in("RuntimeError: Not enough memory to allocate KV cache.\n") == "sglang kv_cache kv_too_large -");
    const std::string store = "LMCache WARNING: Failed to allocate memory for tensor(torch.Size([2, 80, 256, 256]), "
                              "torch.float16) because no memory is available (memory_management.py:444)\n";
    CHECK(found_in(store) == "none");
    CHECK(notes(diagnosis_of(store), "LMCache"));
}
