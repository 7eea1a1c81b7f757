// What PyTorch and transformers print, on CUDA, ROCm, Intel's XPU and Apple's MPS. Their messages are long and get
// wrapped: those with several figures are read from the lines put together without blanks.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

using namespace log_text;

/// The same error once more, in fewer words: "Capture cuda graph failed: CUDA out of memory. Tried to allocate 594 MiB".
bool is_repeated(const Load& load, const LogRefusal& refusal) {
    if (!load.failure || !load.failure->refusal.bytes || !refusal.bytes || !refusal.device.empty()) return false;
    return load.failure->refusal.bytes->value == refusal.bytes->value && refusal.line - load.failure->line < 200;
}

/// A request that was refused while `stage` was worked on, as the frames of the traceback tell; none: they do not.
void fail_at(LogReader& reader, const Mention& mention, const LogRefusal& refusal, FailureStage stage) {
    Load& load = reader.load();
    if (load.number("training") && stage != FailureStage::weights) stage = FailureStage::compute;
    const bool known = stage != FailureStage::none || load.ready;
    load.refusal = refusal;
    load.ready = false; // a server that has come up says what it was doing by its traceback
    if (auto* const failure = reader.decide(stage == FailureStage::none ? FailureStage::generation : stage, mention))
        failure->time_known = known;
}

void fail_with(LogReader& reader, const Mention& mention, const LogRefusal& refusal) {
    fail_at(reader, mention, refusal, reader.take_frame());
}

/// "CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 23.65 GiB total capacity; 22.99 GiB already allocated; ...)",
/// "... GPU 0 has a total capacity of 22.05 GiB of which 112.44 MiB is free. Process 4242 has ...". `text` has no blanks.
void read_torch(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    const auto set = [&](std::string_view key, std::optional<std::uint64_t> value) {
        reader.set(key, value, mention.number);
    };
    LogRefusal refusal;
    refusal.line = mention.number;
    if (const auto bytes = size_after(text, "Triedtoallocate")) refusal.bytes = Logged{*bytes, mention.number};
    for (const std::string mark : {"GPU", "NPU"}) { // NPU: Ascend's
        for (const std::string& before_id : {"(" + mark, mark}) {
            const auto rest = after(text, before_id);
            const auto id = rest && refusal.device.empty() ? count(*rest) : std::nullopt;
            if (id && *id < 1000) refusal.device = mark + " " + std::to_string(*id);
        }
    }
    auto total = size_after(text, "totalcapacityof");
    if (!total) total = size_after(text, "totalcapactyof"); // as PyTorch 2.1 spells it
    if (!total) total = size_before(text, "totalcapacity");
    auto free = size_before(text, "isfree");
    if (!free) free = size_before(text, "free;");
    const auto reserved = size_before(text, "reservedintotal");
    const auto allocated = size_before(text, "isallocatedbyPyTorch");
    auto slack = size_before(text, "isreservedbyPyTorch");
    if (const auto taken = size_before(text, "alreadyallocated"); !slack && reserved && taken && *taken <= *reserved)
        slack = *reserved - *taken;
    auto own = size_after(text, "thisprocesshas");
    if (!own) own = reserved;
    // In a container the driver may not know whose memory is whose: "this process has 0 bytes memory in use".
    const bool unseen = own && allocated && *own < *allocated;
    if (unseen || (!own && allocated)) own = *allocated + slack.value_or(0);
    set("free_now", free);
    set("gpu_total", total);
    set("own", own);
    // What graphs hold in pools of their own cannot be had for anything else, and is no sign of fragments.
    const bool graphs = reader.load().number("graph_capture") && !reader.load().ready;
    if (!graphs) set("slack", slack);
    if (allocated) set("allocated", allocated);
    if (!unseen && total && free && own && *free + *own <= *total) set("others", *total - *free - *own);
    if (!refusal.bytes && reader.load().failure) return; // the same error, in fewer words
    FailureStage stage = reader.take_frame();
    if (graphs && (stage == FailureStage::none || stage == FailureStage::generation)) stage = FailureStage::compute;
    if (is_repeated(reader.load(), refusal)) return;
    fail_at(reader, mention, refusal, stage);
    if (auto& failure = reader.load().failure) failure->text = before(mention.line, "Ifreserved");
}

void collect_torch(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.sign(LogRuntime::pytorch);
    if (mention.line.substr(0, mention.at).ends_with("HIP ")) reader.set("hip", 1, mention.number);
    if (mention.line.substr(0, mention.at).ends_with("XPU ")) reader.set("xpu", 1, mention.number);
    const Load& load = reader.load();
    if (load.failure && load.failure->refusal.bytes && !load.refusal && reader.load().part == LoadPart::model &&
        load.failure->text.starts_with("outofmemory") && mention.number - load.failure->line < 200)
        return; // the same error, once more on its way up
    reader.collect(mention, read_torch);
}

/// The same, broken behind its first sentence, where each piece may have a prefix of its own.
void collect_broken_torch(LogReader& reader, const Mention& mention) {
    if (!mention.rest.starts_with(" Tried to")) collect_torch(reader, mention);
}

template <FailureStage Stage, int Rank>
void read_frame(LogReader& reader, const Mention& mention) {
    if (mention.line.find("File \"") == std::string_view::npos && mention.line.find('(') == std::string_view::npos)
        return;
    reader.frame(Rank, Stage);
}

void read_traceback(LogReader& reader, const Mention&) { reader.take_frame(); }

/// Gradients and the optimizer's state lie beside the weights: what helps is not what helps a program that only answers.
void read_training(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    reader.set_once("training", mention.number, mention.number);
}

void read_training_frame(LogReader& reader, const Mention& mention) {
    if (mention.line.find('(') == std::string_view::npos) return;
    read_training(reader, mention);
    reader.frame(4, FailureStage::compute);
}

/// "Allocation on device 0 would exceed allowed memory. (out of memory)", "Currently allocated : 22.50 GiB", "Requested :
/// 1.16 GiB", "Device limit : 23.99 GiB", "Free (according to CUDA): 12.62 MiB": of CUDA's own pool, which ComfyUI uses
/// (c10/cuda/CUDAMallocAsyncAllocator.cpp).
void read_async_pool(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    LogRefusal refusal;
    refusal.line = mention.number;
    if (const auto id = count(text)) refusal.device = "GPU " + std::to_string(*id);
    if (const auto bytes = size_after(text, "Requested:")) refusal.bytes = Logged{*bytes, mention.number};
    reader.set("own", size_after(text, "Currentlyallocated:"), mention.number);
    reader.set("gpu_total", size_after(text, "Devicelimit:"), mention.number);
    reader.set("free_now", size_after(text, "Free(accordingtoCUDA):"), mention.number);
    fail_with(reader, mention, refusal);
}

void collect_async_pool(LogReader& reader, const Mention& mention) {
    if (mention.rest.substr(0, 60).find(" would exceed allowed memory") == std::string_view::npos) return;
    reader.sign(LogRuntime::pytorch);
    reader.evidence(mention);
    const std::size_t id = mention.line.size() - mention.rest.size();
    reader.collect({mention.line, id, mention.rest, mention.number}, read_async_pool);
}

/// "Allocation is out of device memory on current platform.", Intel's extension of PyTorch.
void read_out_on_platform(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    fail_with(reader, mention, refusal_of(mention, "", std::nullopt));
}

/// "Some parameters are on the meta device because they were offloaded to the cpu and disk.", accelerate's; "device
/// device" until 2024.
void read_offloaded(LogReader& reader, const Mention& mention) {
    if (mention.rest.find("offloaded to the") == std::string_view::npos) return;
    reader.sign(LogRuntime::pytorch);
    reader.evidence(mention);
    reader.note(
        "part of the weights was put into RAM or on the disk, because the GPU has no room for them: no failure, but "
        "slow");
}

void read_sign(LogReader& reader, const Mention&) { reader.sign(LogRuntime::pytorch); }

// ---- MPS: PyTorch on a Mac ---------------------------------------------------------------------------------------------

/// "MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 380.00 MB, max allowed: 18.13 GB). Tried to
/// allocate 500.00 MB on private pool." The other allocations are the program's own, too: the driver's for it. Units
/// are powers of two, as "GB" until 2025 and as "GiB" since (aten/src/ATen/mps/MPSAllocator.mm).
void read_mps(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    const auto allocated = size_after(text, "MPSallocated:"), total = size_after(text, "maxallowed:");
    const std::uint64_t others = size_after(text, "otherallocations:").value_or(0);
    const LogRefusal refusal = refusal_of(mention, "MPS", size_after(text, "Triedtoallocate"));
    reader.set("gpu_total", total, mention.number);
    if (allocated) reader.set("own", *allocated + others, mention.number);
    if (allocated && total) reader.set("free_now", *total - std::min(*total, *allocated + others), mention.number);
    fail_with(reader, mention, refusal);
}

void collect_mps(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    reader.evidence(mention);
    reader.collect(mention, read_mps);
}

/// "RuntimeError: Invalid buffer size: 40.00 GB": Metal's limit of one buffer.
void read_mps_limit(LogReader& reader, const Mention& mention) {
    const auto bytes = size_in(mention.rest);
    if (!bytes || *bytes < std::uint64_t{1} << 30U || mention.line.find("RuntimeError") == std::string_view::npos)
        return;
    reader.sign(LogRuntime::pytorch);
    LogRefusal refusal = refusal_of(mention, "MPS", bytes);
    refusal.per_buffer_limit = true;
    reader.load().refusal = refusal;
    reader.failed(FailureStage::per_buffer_limit, mention);
}

// ---- transformers, accelerate, exllama --------------------------------------------------------------------------------

/// accelerate has put layers into RAM, and a quantized model may have none there: "Some modules are dispatched on the
/// CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model." And exllama's "Insufficient VRAM in
/// split for model and cache".
void read_does_not_fit(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    reader.failed(FailureStage::weights, mention);
}

/// "Using configured max_seq_len: 145408 tokens.", "Loading model: F:\\models\\x", of TabbyAPI.
void read_configured_length(LogReader& reader, const Mention& mention) {
    reader.set("n_ctx", count(mention.rest), mention.number);
}

/// "Not enough memory to handle 4145 prefill tokens.": of text-generation-inference's trial run at its start.
void read_trial_run(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    reader.set("n_batch", count(mention.rest), mention.number);
    auto& failure = reader.load().failure;
    if (!failure) return reader.failed(FailureStage::compute, mention);
    if (failure->stage != FailureStage::generation || failure->time_known) return;
    failure->stage = FailureStage::compute;
    failure->time_known = true;
}

/// "DefaultCPUAllocator: not enough memory: you tried to allocate 117440512 bytes", and "can't allocate memory: you ...".
void read_cpu_allocator(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::pytorch);
    reader.load().refusal = refusal_of(mention, "CPU", size_after(mention.rest, "tried to allocate "));
    reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

/// Python's own, at the end of a traceback; and numpy's "Unable to allocate 4.00 GiB for an array with shape ...".
void read_memory_error(LogReader& reader, const Mention& mention) {
    const bool alone = without_prefix(mention.line).starts_with("MemoryError");
    const auto array = after(mention.line, "Unable to allocate ");
    const bool of_array = array && array->substr(0, 60).find(" for an array") != std::string_view::npos;
    if (!alone && !of_array) return;
    if (of_array) reader.load().refusal = refusal_of(mention, "", size_in(*array));
    reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

constexpr FailureStage weights = FailureStage::weights, cache = FailureStage::kv_cache, compute = FailureStage::compute,
                       generation = FailureStage::generation;

constexpr std::array rules{
    Rule{"out of memory. Tried to", collect_torch},
    Rule{"OutOfMemoryError: CUDA out of memory.", collect_broken_torch},
    Rule{"OutOfMemoryError: HIP out of memory.", collect_broken_torch},
    Rule{"Allocation on device ", collect_async_pool},
    Rule{"is out of device memory on current platform", read_out_on_platform},
    Rule{"are on the meta device", read_offloaded},
    Rule{"torch.distributed", read_sign},
    Rule{"torch.OutOfMemoryError", read_sign},
    Rule{"torch.cuda.OutOfMemoryError", read_sign},
    Rule{"Not enough memory to handle ", read_trial_run},
    Rule{"MPS backend out of memory", collect_mps},
    Rule{"Invalid buffer size: ", read_mps_limit},
    Rule{"modules are dispatched on the CPU or the disk", read_does_not_fit},
    Rule{"configured max_seq_len: ", read_configured_length},
    Rule{"Insufficient VRAM for model", read_does_not_fit},
    Rule{"Insufficient VRAM in split for model", read_does_not_fit},
    Rule{"DefaultCPUAllocator: ", read_cpu_allocator},
    Rule{"MemoryError", read_memory_error},
    Rule{"Traceback (most recent call last)", read_traceback},
    Rule{"initialize_kv_cache", read_frame<cache, 5>},
    Rule{"allocate_kv_cache", read_frame<cache, 5>},
    Rule{"init_memory_pool", read_frame<cache, 5>},
    Rule{"profile_run", read_frame<compute, 4>},
    Rule{"determine_num_available_blocks", read_frame<compute, 4>},
    Rule{"determine_available_memory", read_frame<compute, 4>},
    Rule{"init_cuda_graphs", read_frame<compute, 4>},
    Rule{"create_weights", read_frame<weights, 3>},
    Rule{"load_weights", read_frame<weights, 3>},
    Rule{"from_pretrained", read_frame<weights, 3>},
    Rule{"load_state_dict", read_frame<weights, 3>},
    Rule{"set_module_tensor_to_device", read_frame<weights, 3>},
    Rule{"in _apply", read_frame<weights, 2>},
    Rule{"in convert", read_frame<weights, 2>},
    Rule{"generation/utils.py", read_frame<generation, 4>},
    Rule{"cache_utils.py", read_frame<generation, 5>},
    Rule{"exllamav2/cache.py", read_frame<cache, 5>},
    Rule{"exllamav3/cache", read_frame<cache, 5>},
    Rule{".backward(", read_training_frame},
    Rule{"optimizer.step(", read_training_frame},
    Rule{"trainer.train(", read_training_frame},
    Rule{"training_step(", read_training_frame},
    Rule{"faster free finetuning | Num GPUs", read_training}, // Unsloth
    Rule{"Gradient Accumulation steps", read_training},       // transformers' trainer, and Unsloth's
    Rule{"Gradient accumulation steps", read_training},
    Rule{"execute_model", read_frame<generation, 2>},
    Rule{"cuda_graph_runner.py\"", read_frame<compute, 4>},
};

} // namespace

std::span<const Rule> python_rules() { return rules; }

} // namespace vramfit
