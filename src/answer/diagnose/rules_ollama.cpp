// What Ollama prints around its runners: estimates of 2024 and 2025, sizes of its own engine, `ollama ps`.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>

namespace vramfit {
namespace {

using namespace log_text;

std::optional<std::uint64_t> size_field(const Mention& mention, std::string_view key) {
    const auto value = field(mention.line, key);
    return value ? size_in(*value) : std::nullopt;
}

void set_field(LogReader& reader, const Mention& mention, std::string_view key, std::string_view name) {
    reader.set(name, size_field(mention, key), mention.number);
}

void read_sign(LogReader& reader, const Mention&) { reader.sign(LogRuntime::ollama); }

void read_version(LogReader& reader, const Mention& mention) {
    if (mention.line.find("istening on") == std::string_view::npos && !mention.line.starts_with("ollama version"))
        return;
    reader.sign(LogRuntime::ollama);
    reader.load().version = std::string(before(mention.rest, ")").substr(0, 40));
}

/// msg="offload to cuda" of 2024 and msg=offload of 2025: the estimate that layers are placed by.
void read_estimate(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    set_field(reader, mention, "memory.available", "estimate_free");
    set_field(reader, mention, "memory.required.full", "estimate_required");
    set_field(reader, mention, "memory.required.kv", "estimate_kv_cache");
    set_field(reader, mention, "memory.weights.total", "estimate_weights");
    set_field(reader, mention, "memory.graph.full", "estimate_compute");
    set_field(reader, mention, "projector.weights", "projector");
    if (const auto layers = field(mention.line, "layers.offload"))
        reader.set("gpu_layers", count(*layers), mention.number);
    if (const auto layers = field(mention.line, "layers.model"))
        reader.set("gpu_layers_of", count(*layers), mention.number);
}

/// msg="inference compute" id=... library=CUDA name=CUDA0 description="NVIDIA ..." total="23.6 GiB" available="23.1 GiB"
void read_gpu(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    if (field(mention.line, "library") == std::optional<std::string_view>("cpu")) return;
    Load& load = reader.load();
    for (const std::string_view key : {"description", "name"}) {
        if (const auto name = field(mention.line, key); name && load.gpu.empty())
            load.gpu = std::string(name->substr(0, 200));
    }
    set_field(reader, mention, "total", "gpu_total");
    set_field(reader, mention, "available", "gpu_free");
}

void read_gpu_memory(LogReader& reader, const Mention& mention) { set_field(reader, mention, "available", "gpu_free"); }

void read_system_memory(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    set_field(reader, mention, "total", "host_total");
    set_field(reader, mention, "free", "host_free");
}

/// msg="model weights" device=CUDA0 size="11.5 GiB", or buffer=CUDA0: Ollama's own engine.
template <BufferKind Kind>
void read_engine_buffer(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    auto device = field(mention.line, "device");
    if (!device) device = field(mention.line, "buffer");
    if (!device) device = field(mention.line, "backend");
    const auto bytes = size_field(mention, "size");
    if (!device || !bytes) return;
    // The sizes are printed again for every layout that is tried: the last one counts.
    std::erase_if(reader.load().buffers, [&](const LogBuffer& b) { return b.kind == Kind && b.device == *device; });
    reader.add_buffer(Kind, *device, bytes, mention.number);
    reader.load().has_context = true;
}

void read_load_request(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    if (const auto n = after(mention.rest, "Parallel:")) reader.set("n_parallel", count(*n), mention.number);
    if (const auto n = after(mention.rest, "KvSize:")) reader.set("n_ctx", count(*n), mention.number);
    if (const auto n = after(mention.rest, "BatchSize:")) reader.set("n_batch", count(*n), mention.number);
    if (const auto type = after(mention.rest, "KvCacheType:")) {
        const std::string_view name = before(*type, " ");
        if (!name.empty()) reader.set_text("cache_type_k", name), reader.set_text("cache_type_v", name);
    }
}

void read_num_ctx(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.set("n_ctx", count(mention.rest), mention.number);
}

void read_default_ctx(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.set("default_ctx", count(mention.rest), mention.number);
}

void read_starting(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    const Load& load = reader.load();
    if (load.dead || load.ready || load.failed()) reader.new_model(mention.number);
    if (load.failure && !load.dead) reader.new_process(mention.number);
}

void read_ready(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.ready(mention.number);
}

/// msg="llama-server load failed; reducing automatic context and retrying once" old_num_ctx=32768 new_num_ctx=16384
void read_retry(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.load().retried = true;
    reader.load().dead = true;
    const auto from = field(mention.line, "old_num_ctx"), to = field(mention.line, "new_num_ctx");
    reader.new_process(mention.number);
    if (from && to && from->size() < 12 && to->size() < 12)
        reader.note("Ollama failed at a context of " + std::string(*from) + " and tried again with " +
                    std::string(*to));
}

/// "model requires more system memory (11.3 GiB) than is available (7.9 GiB)".
void read_system_memory_error(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    const auto available = after(mention.rest, "available (");
    LogRefusal refusal;
    refusal.device = "CPU";
    refusal.line = mention.number;
    if (const auto bytes = size_in(mention.rest)) refusal.bytes = Logged{*bytes, mention.number};
    if (available) reader.set("host_free", size_in(*available), mention.number);
    Load& load = reader.load();
    load.refusal = refusal;
    load.failure.reset();
    reader.failed(FailureStage::host, mention, FailureCause::host_memory);
    load.dead = true;
}

/// msg="model request too large for system" requested="11.3 GiB" available="7.9 GiB" total=...
void read_too_large(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    LogRefusal refusal;
    refusal.device = "CPU";
    refusal.line = mention.number;
    auto bytes = size_field(mention, "requested");
    if (!bytes) bytes = size_field(mention, "requireFull");
    if (bytes) refusal.bytes = Logged{*bytes, mention.number};
    set_field(reader, mention, "available", "host_free");
    set_field(reader, mention, "total", "host_total");
    reader.load().refusal = refusal;
    reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

void read_not_recovered(LogReader& reader, const Mention&) {
    reader.sign(LogRuntime::ollama);
    reader.note("\"gpu VRAM usage didn't recover within timeout\" is a warning of Ollama's scheduler, not a failure");
}

void read_killed(LogReader& reader, const Mention& mention) {
    if (!reader.load().failure) reader.failed(FailureStage::host, mention, FailureCause::host_memory);
}

void read_terminated(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    if (mention.line.find("retrying once") != std::string_view::npos) return; // of the load before
    if (mention.rest.find("killed") != std::string_view::npos) return read_killed(reader, mention);
    reader.gave_up(mention);
}

void read_resource_limits(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.evidence(mention);
    reader.set_once("resource_limits", mention.number, mention.number);
}

// ---- `ollama ps` ------------------------------------------------------------------------------------------------------

void read_table_header(LogReader& reader, const Mention& mention) {
    if (mention.line.find("NAME") == std::string_view::npos || mention.line.find("SIZE") == std::string_view::npos)
        return;
    reader.sign(LogRuntime::ollama);
    reader.table = std::string(mention.line.substr(0, 400));
}

std::string_view cell(const LogReader& reader, std::string_view line, std::string_view column) {
    const std::size_t at = reader.table.find(column);
    if (at == std::string::npos || at >= line.size()) return "";
    std::string_view text = line.substr(at);
    return trimmed(text.substr(0, text.find("  ")));
}

/// "qwen3:32b    0000000000aa    27 GB     38%/62% CPU/GPU    8192       4 minutes from now"
void read_table_row(LogReader& reader, const Mention& mention) {
    if (reader.table.empty()) return;
    const std::string_view name = trimmed(before(mention.line, "  "));
    const auto processor = cell(reader, mention.line, "PROCESSOR");
    const auto context = count(cell(reader, mention.line, "CONTEXT"));
    if (name.empty() || processor.find('%') == std::string_view::npos || name.size() > 100) return;
    Load& load = reader.load();
    const bool first = !load.number("ps_rows");
    reader.set("ps_rows", first ? 1 : load.number("ps_rows")->value + 1, mention.number);
    load.name = first ? std::string(name) : "";
    if (first || (load.number("n_ctx") && context && load.number("n_ctx")->value == *context))
        reader.set("n_ctx", context, mention.number);
    else
        load.numbers.erase("n_ctx");
    const auto gigabytes = number(cell(reader, mention.line, "SIZE"));
    if (gigabytes && first) // GB, which are decimal here
        reader.set("ps_size", bytes_of(*gigabytes, cell(reader, mention.line, "SIZE").find("MB") < 12 ? 1e6 : 1e9),
                   mention.number);
    if (processor.find("CPU") != std::string_view::npos && reader.load().notes.size() < 8)
        reader.note(std::string(name) + " runs " + std::string(processor) + ": what lies on the CPU slows every token");
}

constexpr std::array rules{
    Rule{"source=memory.go", read_sign},
    Rule{"source=server.go", read_sign},
    Rule{"source=sched.go", read_sign},
    Rule{"source=routes.go", read_sign},
    Rule{"source=llama_server.go", read_sign},
    Rule{"source=runner.go", read_sign},
    Rule{"source=ggml.go", read_sign},
    Rule{"source=device.go", read_sign},
    Rule{"ollama[", read_sign},
    Rule{"llama.go:", read_sign},
    Rule{"llama runner process", read_sign},
    Rule{"llama-server process has terminated", read_sign},
    Rule{"Ollama cannot find", read_sign},
    Rule{"OLLAMA_", read_sign},
    Rule{"ollama version is ", read_version},
    Rule{"(version ", read_version},
    Rule{"msg=\"offload to ", read_estimate},
    Rule{"msg=offload ", read_estimate},
    Rule{"msg=\"inference compute\"", read_gpu},
    Rule{"msg=\"gpu memory\"", read_gpu_memory},
    Rule{"msg=\"system memory\"", read_system_memory},
    Rule{"msg=\"model weights\"", read_engine_buffer<BufferKind::weights>},
    Rule{"msg=\"kv cache\"", read_engine_buffer<BufferKind::kv_cache>},
    Rule{"msg=\"compute graph\"", read_engine_buffer<BufferKind::compute>},
    Rule{"msg=load request=", read_load_request},
    Rule{" num_ctx=", read_num_ctx},
    Rule{"default_num_ctx=", read_default_ctx},
    Rule{"msg=\"starting llama server\"", read_starting},
    Rule{"msg=\"starting runner\"", read_starting},
    Rule{"msg=\"loading model\"", read_starting},
    Rule{"llama runner started in", read_ready},
    Rule{"reducing automatic context and retrying", read_retry},
    Rule{"requires more system memory (", read_system_memory_error},
    Rule{"too large for system", read_too_large},
    Rule{"gpu VRAM usage didn't recover", read_not_recovered},
    Rule{"signal: killed", read_killed},
    Rule{"process has terminated: ", read_terminated},
    Rule{"process no longer running", read_terminated},
    Rule{"due to resource limitations", read_resource_limits},
    Rule{"PROCESSOR", read_table_header},
    Rule{"% GPU", read_table_row},
    Rule{"% CPU", read_table_row},
};

} // namespace

std::span<const Rule> ollama_rules() { return rules; }

} // namespace vramfit
