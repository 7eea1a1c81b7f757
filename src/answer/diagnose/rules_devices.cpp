// How the drivers of Intel's, Apple's, Huawei's and OpenCL's devices say that memory is missing, and what programs pass
// on of it without saying what it was for.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>
#include <set>

namespace vramfit {
namespace {

using namespace log_text;

bool has(const Mention& mention, std::string_view text) { return mention.line.find(text) != std::string_view::npos; }

/// A driver hands memory out when it is first written to: the cache fails when it is cleared, behind the line that tells
/// the context and before the one that tells its size.
FailureStage stage_of_driver(const Load& load) {
    if (!load.ready && load.has_context && load.has_buffers() && !load.has_cache()) return FailureStage::kv_cache;
    return stage_of_progress(load);
}

/// The devices of a backend that the log names: "SYCL0", "SYCL1".
std::set<std::string, std::less<>> devices_of(const Load& load, std::string_view backend) {
    std::set<std::string, std::less<>> names;
    const auto add = [&](std::string_view name) {
        if (name.starts_with(backend) && !is_host_buffer(name)) names.emplace(device_of_buffer(name));
    };
    for (const LogDevice& device : load.devices) add(device.name);
    for (const LogBuffer& buffer : load.buffers) add(buffer.device);
    return names;
}

/// The only one of them, or the first where none is named: of several, the message does not tell which.
std::string only_device(const Load& load, std::string_view backend) {
    const auto names = devices_of(load, backend);
    return names.empty() ? std::string(backend) + "0" : names.size() == 1 ? *names.begin() : "";
}

/// A driver's error, after which the program ends.
void fail(LogReader& reader, const Mention& mention, std::string_view device) {
    Load& load = reader.load();
    reader.evidence(mention);
    if (load.refusal && mention.number - load.refusal->line < 4) return; // what follows tells what it was for
    if (load.failure && !load.ready && (load.failure->refusal.bytes || mention.number - load.failure->line < 4)) return;
    const FailureStage stage = stage_of_driver(load);
    load.refusal = refusal_of(mention, device, std::nullopt);
    LogFailure* const failure = reader.decide(stage, mention);
    if (failure != nullptr && stage == FailureStage::generation) failure->time_known = load.ready;
}

// ---- Intel ------------------------------------------------------------------------------------------------------------

/// "Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", since 2025 "level_zero backend
/// failed with error: 39 (...)", PI_ERROR_... before; the Level Zero driver's own ZE_RESULT_ERROR_...; OpenCL's and
/// Vulkan's. Memory of the host is meant as seldom as it is named: llama.cpp's docs/backend/SYCL.md counts it as the
/// device's.
void read_driver_memory(LogReader& reader, const Mention& mention) {
    Load& load = reader.load();
    if (has(mention, "RuntimeError: ")) { // an exception of PyTorch's
        reader.sign(LogRuntime::pytorch);
        const FailureStage stage = reader.take_frame();
        const bool known = stage != FailureStage::none || load.ready;
        if (auto* const failure =
                reader.decide(stage == FailureStage::none ? FailureStage::generation : stage, mention))
            failure->time_known = known;
        return;
    }
    const bool sycl = load.number("sycl") || !devices_of(load, "SYCL").empty();
    fail(reader, mention, sycl ? only_device(load, "SYCL") : "");
}

/// "UR_RESULT_ERROR_OUT_OF_RESOURCES", "-999 (Unknown PI error)": said of missing memory, and of other things as well.
void read_out_of_resources(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.note("the driver's error does not say what it is out of: often it is memory; a smaller context, or fewer "
                "layers on the GPU, would show");
}

/// "Exception caught at file:/app/ggml/src/ggml-sycl/ggml-sycl.cpp, line:3000", below the error; "[SYCL]" and
/// "found 1 SYCL devices:" above it.
void read_sycl_sign(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    Load& load = reader.load();
    reader.set("sycl", 1, mention.number);
    if (load.failure && load.failure->refusal.device.empty() && mention.number - load.failure->line <= 3)
        load.failure->refusal.device = only_device(load, "SYCL");
}

/// "can't malloc 485752832 Bytes memory on device": the figure is what is left of it in 32 bits.
void read_sycl_malloc(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.set("sycl_modulo", 1, mention.number);
    reader.refused(refusal_of(mention, only_device(reader.load(), "SYCL"), size_in(mention.rest)));
}

/// "can't allocate 4780720128 Bytes of memory on device", and "... on device/GPU" of the pool that kernels use.
void read_sycl_allocate(LogReader& reader, const Mention& mention) {
    const auto what = after(mention.rest.substr(0, 80), " Bytes of memory on device");
    if (!what) return;
    reader.sign(LogRuntime::llama_cpp);
    reader.evidence(mention);
    Load& load = reader.load();
    reader.refused(refusal_of(mention, only_device(load, "SYCL"), size_in(mention.rest)));
    if (!what->starts_with("/GPU")) return;
    const FailureStage stage = stage_of_driver(load);
    LogFailure* const failure = reader.decide(stage, mention);
    if (failure != nullptr && stage == FailureStage::generation) failure->time_known = load.ready;
}

// ---- Apple -----------------------------------------------------------------------------------------------------------

/// "The Metal Performance Shaders operations encoded on it may not have completed.": PyTorch's, above the reason.
void read_metal_shaders(LogReader& reader, const Mention& mention) { reader.set("metal_shaders", 1, mention.number); }

void fail_on_mps(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    Load& load = reader.load();
    load.refusal = refusal_of(mention, "MPS", std::nullopt);
    if (auto* const failure = reader.decide(FailureStage::generation, mention)) failure->time_known = false;
}

/// Metal while it computes: "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)".
void read_metal_insufficient(LogReader& reader, const Mention& mention) {
    const bool mlx = has(mention, "[METAL]");
    Load& load = reader.load();
    const auto shaders = load.number("metal_shaders");
    if (shaders && mention.number - shaders->line <= 4) return fail_on_mps(reader, mention);
    const bool llama = without_prefix(mention.line).starts_with("error: "); // of others: "Error: Metal error ..."
    if (mlx || llama) reader.sign(mlx ? LogRuntime::mlx : LogRuntime::llama_cpp);
    if (load.failure && load.failure->refusal.bytes) return;
    const bool works = mlx || load.ready || !load.has_context;
    LogFailure* const failure = works
                                    ? reader.decide(FailureStage::generation, mention, FailureCause::generation_growth)
                                    : reader.decide(FailureStage::compute, mention);
    if (failure == nullptr) return;
    failure->time_known = mlx || load.ready || load.has_context;
    if (failure->refusal.device.empty() && !mlx) failure->refusal.device = "Metal";
}

void read_working_set_warning(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.set("above_working_set", 1, mention.number);
    reader.note("Metal warned that more is allocated than its recommended working set: slow at first, then it fails");
}

// ---- Others -----------------------------------------------------------------------------------------------------------

/// "CANN error: EL0004: [PID: 1] 2025-...: Failed to allocate memory.": Huawei's code for it.
void read_cann(LogReader& reader, const Mention& mention) {
    if (!has(mention, "CANN")) return;
    reader.sign(LogRuntime::llama_cpp);
    fail(reader, mention, only_device(reader.load(), "CANN"));
}

/// "ggml_opencl: clCreateBuffer(...) error -61 at ggml-opencl.cpp:1": -61 is a buffer above the limit of one, -4 and -6
/// are the device's and the host's memory (Khronos, CL/cl.h).
void read_opencl(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::llama_cpp);
    const auto code = after(mention.rest, " error -");
    const std::uint64_t number = code ? count(*code).value_or(0) : 0;
    if (number == 4 || number == 6) return fail(reader, mention, "OpenCL");
    if (number != 61) return;
    LogRefusal refusal = refusal_of(mention, "OpenCL", std::nullopt);
    refusal.per_buffer_limit = true;
    reader.load().refusal = refusal;
    reader.failed(FailureStage::per_buffer_limit, mention);
}

/// "[malloc_or_wait] Unable to allocate 1073741824 bytes.", MLX's.
void read_mlx_malloc(LogReader& reader, const Mention& mention) {
    const auto bytes = after(mention.rest.substr(0, 80), "Unable to allocate ");
    if (!bytes) return;
    reader.sign(LogRuntime::mlx);
    reader.load().refusal = refusal_of(mention, "Metal", size_in(*bytes));
    if (auto* const failure = reader.decide(FailureStage::generation, mention)) failure->time_known = false;
}

/// Vulkan's word for the computer's memory.
void read_vulkan_host(LogReader& reader, const Mention& mention) {
    if (has(mention, "pinned memory")) return;
    reader.evidence(mention);
    if (!reader.load().failure) reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

constexpr std::array rules{
    Rule{"Insufficient Memory (0000", read_metal_insufficient},
    Rule{"execution failed: Insufficient Memory", read_metal_insufficient}, // some leave the code out
    Rule{"Metal Performance Shaders operations", read_metal_shaders},
    Rule{"recommended max working set size", read_working_set_warning},
    Rule{"OUT_OF_DEVICE_MEMORY", read_driver_memory},
    Rule{"OUT_OF_HOST_MEMORY", read_driver_memory},
    Rule{"MEM_OBJECT_ALLOCATION_FAILURE", read_driver_memory},
    Rule{"_ERROR_OUT_OF_RESOURCES", read_out_of_resources},
    Rule{"CL_OUT_OF_RESOURCES", read_out_of_resources},
    Rule{"Unknown PI error", read_out_of_resources},
    Rule{"ggml-sycl", read_sycl_sign},
    Rule{"ggml_sycl", read_sycl_sign},
    Rule{" SYCL devices", read_sycl_sign},
    Rule{"can't malloc ", read_sycl_malloc},
    Rule{"can't allocate ", read_sycl_allocate},
    Rule{"EL0004", read_cann},
    Rule{"ggml_opencl: ", read_opencl},
    Rule{"[malloc", read_mlx_malloc},
    Rule{"[metal::malloc]", read_mlx_malloc},
    Rule{"ErrorOutOfHostMemory", read_vulkan_host},
};

} // namespace

std::span<const Rule> device_rules() { return rules; }

} // namespace vramfit
