// How llama.cpp, its forks and its backends say that memory is missing, and how they say other things.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>

namespace vramfit {
namespace {

using namespace log_text;

bool has(const Mention& mention, std::string_view text) { return mention.line.find(text) != std::string_view::npos; }

/// Memory that is only handed over faster when it is pinned: its lack is survived.
bool is_pinned(const Mention& mention) { return has(mention, "pinned memory"); }

OptionalLogged logged(std::optional<std::uint64_t> bytes, const Mention& mention) {
    return bytes ? OptionalLogged({*bytes, mention.number}) : std::nullopt;
}

/// ROCm's builds speak of CUDA in their messages: which one it is, the list of devices tells.
std::string device_named(const Load& load, std::uint64_t id) {
    const std::string number = std::to_string(id);
    const bool rocm = load.find_device("ROCm" + number) != nullptr && load.find_device("CUDA" + number) == nullptr;
    return (rocm ? "ROCm" : "CUDA") + number;
}

/// "allocating 10240.00 MiB on device 0: cudaMalloc failed: out of memory".
void read_allocating(LogReader& reader, const Mention& mention) {
    const std::string_view head = mention.line.substr(0, mention.at);
    const auto amount = after(head, "allocating ");
    const auto device = count(mention.rest);
    if (!amount || !device) return;
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    const bool host = has(mention, "cudaMallocHost") || has(mention, "hipHostMalloc");
    const std::string name = has(mention, "hipMalloc")     ? "ROCm" + std::to_string(*device)
                             : has(mention, "aclrtMalloc") ? "CANN" + std::to_string(*device)
                                                           : device_named(reader.load(), *device);
    if (!host) reader.refused(refusal_of(mention, name, size_in(std::string(*amount) + "MiB")));
}

/// "ggml_metal_add_buffer: error: failed to allocate 'data            ' buffer, size = 19283.21 MiB", 2023: what a buffer
/// was for, its name tells.
void read_named_buffer(LogReader& reader, const Mention& mention) {
    const std::string_view name = trimmed(before(mention.rest.substr(1), "'"));
    const auto size = after(mention.rest, "size =");
    if (!size) return;
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    reader.refused(refusal_of(mention, "Metal", size_in(*size)));
    if (name == "data") reader.set("whole_weights", 1, mention.number);
    reader.failed(name == "data" ? FailureStage::weights
                  : name == "kv" ? FailureStage::kv_cache
                                 : FailureStage::compute,
                  mention);
}

/// "ggml_metal_get_buffer: error: buffer is nil", 2023: the tensor lies in none of those that were made.
void read_nil_buffer(LogReader& reader, const Mention& mention) {
    if (!reader.load().number("above_working_set")) return;
    reader.sign(LogRuntime::llama_cpp);
    Load& load = reader.load();
    load.refusal = refusal_of(mention, "Metal", std::nullopt);
    reader.failed(FailureStage::compute, mention);
}

/// What stood behind "failed to allocate ".
void read_failed_to_allocate(LogReader& reader, const Mention& mention) {
    const std::string_view what = mention.rest;
    if (what.starts_with('\'')) return read_named_buffer(reader, mention);
    if (is_pinned(mention)) {
        reader.set("pinned", mention.number, mention.number);
        return reader.note("pinned memory could not be had: slower transfers, not a failure");
    }
    const std::string small = lower(what.substr(0, 60));
    if (small.starts_with("buffer for kv cache") || small.starts_with("kv cache") || small.starts_with("kv-cache") ||
        small.starts_with("buffer for rs cache") || small.starts_with("memory for kv cache"))
        return reader.failed(FailureStage::kv_cache, mention);
    if (small.starts_with("compute")) return reader.failed(FailureStage::compute, mention);
    if (small.starts_with("graph")) return; // reserved anew, no failure
    if (const auto bytes = after(what.substr(0, 160), "buffer of size ")) {
        LogRefusal refusal = refusal_of(mention, trimmed(before(what, "buffer of size")), size_in(*bytes));
        if (refusal.device.starts_with("memory for")) refusal.device.clear(); // ONNX Runtime's words
        if (refusal.device.empty()) refusal.device = has(mention, "cpu_buffer") ? "CPU" : "";
        const std::string_view head = mention.line.substr(0, mention.at);
        const std::size_t graph = head.rfind("gallocr"), tensors = head.rfind("tensor_range");
        if (graph != std::string_view::npos) refusal.asker = Asker::graph;
        if (tensors != std::string_view::npos && (graph == std::string_view::npos || tensors > graph))
            refusal.asker = Asker::tensors;
        reader.evidence(mention);
        return reader.refused(std::move(refusal));
    }
    if (small.starts_with("buffer, size")) { // Metal
        reader.sign(LogRuntime::llama_cpp);
        reader.evidence(mention);
        return reader.refused(
            refusal_of(mention, has(mention, "metal") ? "Metal" : "", size_in(after(what, "=").value_or(""))));
    }
    if (small.starts_with("buffer") || small.starts_with("backend buffer") || small.starts_with("tensor"))
        return reader.failed(FailureStage::weights, mention);
    if (small.starts_with("output buffer") || small.starts_with("logits")) reader.failed(FailureStage::host, mention);
}

/// "unable to allocate CUDA0 buffer", "unable to allocate backend buffer".
void read_unable(LogReader& reader, const Mention& mention) {
    if (mention.rest.substr(0, 80).find("buffer") == std::string_view::npos) return;
    Load& load = reader.load();
    if (load.failure && has(mention, "what():")) return; // the same error, uncaught
    if (!load.refusal) load.refusal = refusal_of(mention, "", std::nullopt);
    const std::string_view name = trimmed(before(mention.rest, " buffer"));
    if (load.refusal->device.empty() && name != "backend" && name.size() < 60) load.refusal->device = std::string(name);
    reader.failed(FailureStage::weights, mention);
}

void read_kv_failed(LogReader& reader, const Mention& mention) { reader.failed(FailureStage::kv_cache, mention); }

void read_projector_failed(LogReader& reader, const Mention& mention) {
    if (reader.load().refusal) reader.failed(FailureStage::mmproj, mention);
}

/// An error of a pool or of a kernel's scratch, beside the buffers.
void fail_at_work(LogReader& reader, const Mention& mention) {
    if (has(mention, "RuntimeError: ") || has(mention, "AcceleratorError: ")) { // an exception of PyTorch's
        reader.sign(LogRuntime::pytorch);
        const FailureStage stage = reader.take_frame();
        if (auto* const failure =
                reader.decide(stage == FailureStage::none ? FailureStage::generation : stage, mention))
            failure->time_known = stage != FailureStage::none || reader.load().ready;
        return;
    }
    reader.sign(LogRuntime::llama_cpp);
    Load& load = reader.load();
    if (load.refusal && mention.number - load.refusal->line < 4) return;
    if (load.failure && load.failure->refusal.bytes && !load.ready) return;
    // In 2023 the cache had no buffer whose refusal is told: its size is printed once it lies there.
    const bool cache_of_2023 = has(mention, "CUDA error 2 at ") && load.has_context && !load.number("kv_self");
    const FailureStage stage = cache_of_2023 && !load.ready ? FailureStage::kv_cache : stage_of_progress(load);
    LogFailure* const failure = reader.decide(stage, mention);
    if (failure != nullptr && stage == FailureStage::generation) failure->time_known = load.ready;
}

/// "CUDA error: out of memory": a pool or a kernel's scratch, beside the buffers. Where a sentence goes on behind it,
/// somebody speaks of it.
void read_cuda_error(LogReader& reader, const Mention& mention) {
    const auto rest = after(mention.rest.substr(0, 300), "out of memory"); // behind the path of a file
    if (!rest || rest->starts_with(' ')) return;
    fail_at_work(reader, mention);
}

/// "CUBLAS_STATUS_ALLOC_FAILED": what cuBLAS itself needs found no memory (NVIDIA, cuBLAS: cublasStatus_t). Other
/// statuses are of other things.
void read_cublas(LogReader& reader, const Mention& mention) {
    if (!mention.rest.starts_with("ALLOC_FAILED")) return reader.other_error(mention);
    reader.evidence(mention);
    fail_at_work(reader, mention);
}

/// "cuBLAS error 15 at ggml-cuda.cu:8456", 2023: a status by its number; 3 is the same.
void read_cublas_number(LogReader& reader, const Mention& mention) {
    if (!mention.rest.starts_with(" 3 at")) return reader.other_error(mention);
    reader.evidence(mention);
    fail_at_work(reader, mention);
}

/// "  current device: 1, in function alloc at ...", below the error.
void read_current_device(LogReader& reader, const Mention& mention) {
    auto& failure = reader.load().failure;
    const auto device = count(mention.rest);
    if (!failure || !device || *device > 1000 || mention.number - failure->line > 3) return;
    const bool rocm = failure->text.find("ROCm") != std::string::npos;
    if (failure->refusal.device.empty())
        failure->refusal.device = rocm ? "ROCm" + std::to_string(*device) : device_named(reader.load(), *device);
    // The pool of what is computed, which no weights come from (ggml-cuda.cu).
    if (failure->stage != FailureStage::weights || mention.rest.find("in function alloc") == std::string_view::npos)
        return;
    failure->stage = FailureStage::generation;
    failure->time_known = false;
}

/// "  hipMalloc((void **) &ptr, look_ahead_size)", below the error and its device, which are called CUDA's.
void read_hip(LogReader& reader, const Mention& mention) {
    auto& failure = reader.load().failure;
    if (!failure || mention.number - failure->line > 4 || !failure->refusal.device.starts_with("CUDA")) return;
    failure->refusal.device.replace(0, 4, "ROCm");
}

/// "ggml_vulkan: Device memory allocation of size 4563402752 failed."
void read_vulkan(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    reader.refused(refusal_of(mention, "Vulkan0", size_in(mention.rest)));
}

/// "Requested buffer size exceeds device memory allocation limit", "... exceeds device buffer size limit".
void read_buffer_limit(LogReader& reader, const Mention& mention) {
    if (is_pinned(mention)) return reader.note("pinned memory could not be had: slower transfers, not a failure");
    LogRefusal refusal = refusal_of(mention, "", std::nullopt);
    refusal.per_buffer_limit = true;
    reader.evidence(mention);
    reader.refused(std::move(refusal));
}

/// "buffer 'data' size 8735481856 is larger than buffer maximum of 8589934592": Metal.
void read_buffer_maximum(LogReader& reader, const Mention& mention) {
    const auto bytes = after(mention.line.substr(0, mention.at), "size ");
    LogRefusal refusal = refusal_of(mention, "Metal", bytes ? size_in(*bytes) : std::nullopt);
    refusal.per_buffer_limit = true;
    refusal.limit = logged(size_in(after(mention.rest, " of ").value_or("")), mention);
    reader.evidence(mention);
    reader.refused(std::move(refusal));
}

/// "tensor token_embd.weight is too large to fit in a Vulkan0 buffer (tensor size: 5368709120, max buffer size: 4294967292)"
void read_too_large(LogReader& reader, const Mention& mention) {
    const auto size = after(mention.rest, "tensor size: "), limit = after(mention.rest, "max buffer size: ");
    if (!size || !limit) return;
    LogRefusal refusal = refusal_of(mention, before(mention.rest, " buffer"), size_in(*size));
    refusal.per_buffer_limit = true;
    refusal.limit = logged(size_in(*limit), mention);
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    reader.refused(std::move(refusal));
}

/// "ggml_aligned_malloc: insufficient memory (attempted to allocate 29500.00 MB)": the computer's, in MiB.
void read_aligned(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    reader.refused(refusal_of(mention, "CPU", size_in(mention.rest)));
}

/// A program that lends its device: what a client asks memory for, it does not know.
void read_rpc_server(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    reader.set("rpc_server", 1, mention.number);
}

void read_quantized_v(LogReader& reader, const Mention& mention) {
    reader.failed(FailureStage::settings, mention, FailureCause::setting);
}

/// llama.cpp's fallback: the same graph without copies for pipelining.
void read_retry(LogReader& reader, const Mention&) {
    Load& load = reader.load();
    load.failure.reset();
    load.refusal.reset();
    load.numbers.erase("generic");
    load.survived = true;
}

void read_gave_up(LogReader& reader, const Mention& mention) { reader.gave_up(mention); }

/// "error loading model: missing tensor 'x'": of files, unless it is about memory.
void read_loading_error(LogReader& reader, const Mention& mention) {
    const std::string_view what = mention.rest.substr(0, 200);
    for (const std::string_view memory : {"allocate", "out of memory", "Not enough memory", "bad_alloc"}) {
        if (what.find(memory) != std::string_view::npos) return;
    }
    reader.other_error(mention);
}

void read_other_error(LogReader& reader, const Mention& mention) { reader.other_error(mention); }

/// "terminate called after throwing an instance of 'std::bad_alloc'".
void read_bad_alloc(LogReader& reader, const Mention& mention) {
    if (!reader.load().failure) reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

void read_thrown(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("bad_alloc") == std::string_view::npos &&
        mention.rest.find("OutOfDeviceMemoryError") == std::string_view::npos)
        reader.other_error(mention);
}

/// "  what():  Invalid magic number", below the line that something was thrown.
void read_what(LogReader& reader, const Mention& mention) {
    auto& error = reader.load().other_error;
    const bool thrown = error && error->text.starts_with("terminate called") && mention.number - error->number <= 2;
    if (thrown && mention.rest.find("out of memory") != std::string_view::npos) return error.reset(); // read elsewhere
    if (thrown) error->text += ": " + std::string(trimmed(mention.rest.substr(0, 300)));
}

void read_out_of_device_memory(LogReader& reader, const Mention& mention) {
    if (is_pinned(mention) || has(mention, "exceeds device")) return;
    const auto pinned = reader.load().number("pinned"); // its reason stands on a line of its own
    if (pinned && mention.number - pinned->value <= 1) return;
    reader.evidence(mention);
    if (reader.load().ready && has(mention, "what():")) { // the program ends by it, while it works
        reader.load().refusal = refusal_of(mention, "Vulkan0", std::nullopt);
        return reader.failed(FailureStage::generation, mention);
    }
    if (!reader.load().failure) reader.refused(refusal_of(mention, "Vulkan0", std::nullopt));
}

/// Fallback: somebody's words for it, where no rule knows more. Of a program that has come up, only an exception counts.
void read_out_of_memory(LogReader& reader, const Mention& mention) {
    if (is_pinned(mention) || has(mention, "Perhaps out of memory")) return; // a guess of gunicorn's
    reader.evidence(mention);
    const bool exception = has(mention, "RuntimeError: ") || has(mention, "OutOfMemoryError: ");
    const Load& load = reader.load();
    const bool repeated = load.failure && mention.number - load.failure->line < 200;
    if (exception && load.ready && !repeated && mention.rest.find(" Tried to") == std::string_view::npos)
        reader.failed(FailureStage::generation, mention);
    reader.set_once("generic", mention.number, mention.number);
}

/// Made-up or wrapped messages: "requested ctx=262144, gpu memory free=1024 MiB".
void read_requested_ctx(LogReader& reader, const Mention& mention) {
    const auto value = count(mention.rest);
    if (value && *value > 0) reader.set("n_ctx", value, mention.number);
    reader.sign(LogRuntime::llama_cpp);
}

void read_memory_free(LogReader& reader, const Mention& mention) {
    reader.set("free_now", size_in(mention.rest), mention.number);
}

/// "llama_decode: failed to decode, ret = -3", "process_ubatch: failed to compute graph": Metal refuses while it works
/// on a prompt, so the model lies there; but where it only warms up, it does not answer yet.
void read_decode_failed(LogReader& reader, const Mention& mention) {
    Load& load = reader.load();
    auto& failure = load.failure;
    if (!failure || load.number("warm_up") || mention.number - failure->line > 6) return;
    if (failure->stage == FailureStage::generation) failure->time_known = true;
    if (failure->cause || failure->stage != FailureStage::compute || !failure->refusal.device.starts_with("M")) return;
    failure->stage = FailureStage::generation;
    failure->cause = FailureCause::generation_growth;
    failure->time_known = true;
}

void read_warm_up(LogReader& reader, const Mention& mention) { reader.set("warm_up", 1, mention.number); }

constexpr std::array rules{
    Rule{"failed to decode", read_decode_failed},
    Rule{"failed to compute graph", read_decode_failed},
    Rule{"warming up the model with an empty run", read_warm_up},
    Rule{" MiB on device ", read_allocating},
    Rule{"error: buffer is nil", read_nil_buffer},
    Rule{"hipMalloc((", read_hip},
    Rule{"failed to allocate ", read_failed_to_allocate},
    Rule{"Failed to allocate ", read_failed_to_allocate},
    Rule{"unable to allocate ", read_unable},
    Rule{"kv_cache_init() failed", read_kv_failed},
    Rule{"llama_kv_cache_init failed", read_kv_failed},
    Rule{"failed to load multimodal model", read_projector_failed},
    Rule{"failed to load CLIP model", read_projector_failed},
    Rule{"failed to init clip", read_projector_failed},
    Rule{"CUDA error: ", read_cuda_error},
    Rule{"ROCm error: ", read_cuda_error},
    Rule{"CUDA driver error: ", read_cuda_error},
    Rule{"HIP error: ", read_cuda_error},
    Rule{"CUDA error 2 at ", read_cuda_error},
    Rule{"current device: ", read_current_device},
    Rule{"Device memory allocation of size ", read_vulkan},
    Rule{"ggml_vulkan: Memory allocation of size ", read_vulkan}, // 2024
    Rule{"exceeds device memory allocation limit", read_buffer_limit},
    Rule{"exceeds device buffer size limit", read_buffer_limit},
    Rule{"is larger than buffer maximum", read_buffer_maximum},
    Rule{" is too large to fit in a ", read_too_large},
    Rule{"insufficient memory (attempted to allocate ", read_aligned},
    Rule{"Starting RPC server", read_rpc_server},
    Rule{"quantized V cache ", read_quantized_v},
    Rule{"V cache quantization requires", read_quantized_v},
    Rule{"retrying without pipeline parallelism", read_retry},
    Rule{"exiting due to model loading error", read_gave_up},
    Rule{"unable to create context", read_gave_up},
    Rule{"error: unable to load model", read_gave_up},
    Rule{"failed to create context with model", read_gave_up},
    Rule{"failed to create_context with model", read_gave_up},
    Rule{"error loading model: ", read_loading_error},
    Rule{"failed to open GGUF file", read_other_error},
    Rule{"GGML_ASSERT", read_other_error},
    Rule{"DeviceLostError", read_other_error},
    Rule{"ErrorDeviceLost", read_other_error},
    Rule{"cuBLAS error", read_cublas_number},
    Rule{"CUBLAS_STATUS_", read_cublas},
    Rule{"CUDNN_STATUS_ALLOC_FAILED", fail_at_work},
    Rule{"illegal memory access", read_other_error},
    Rule{"no kernel image is available", read_other_error},
    Rule{"Segmentation fault", read_other_error},
    Rule{"unknown model architecture", read_other_error},
    Rule{"address already in use", read_other_error},
    Rule{"couldn't bind HTTP server socket", read_other_error},
    Rule{"terminate called after throwing", read_thrown},
    Rule{"what():  ", read_what},
    Rule{"std::bad_alloc", read_bad_alloc},
    Rule{"ErrorOutOfDeviceMemory", read_out_of_device_memory},
    Rule{"out of memory", read_out_of_memory},
    Rule{"Out of memory", read_out_of_memory},
    Rule{"OutOfMemory", read_out_of_memory},
    Rule{"OUT_OF_MEMORY", read_out_of_memory},
    Rule{"Out Of Memory", read_out_of_memory},
    Rule{"requested ctx=", read_requested_ctx},
    Rule{"memory free=", read_memory_free},
};

} // namespace

std::span<const Rule> llama_failure_rules() { return rules; }

} // namespace vramfit
