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

/// msg="gpu memory" id=... library=CUDA available="22.3 GiB" free="22.8 GiB" minimum="457.0 MiB" overhead="0 B": what is
/// available is what is free without what Ollama keeps for itself.
void read_gpu_memory(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    set_field(reader, mention, "free", "gpu_free");
}

/// "llama.go:290: 22963 MB VRAM available, loading up to 146 GPU layers", 2023.
void read_available(LogReader& reader, const Mention& mention) {
    const std::string_view head = mention.line.substr(0, mention.at);
    const std::size_t digits = head.find_last_not_of("0123456789");
    reader.set("gpu_free", size_in(std::string(head.substr(digits + 1)) + "MiB"), mention.number);
}

/// msg="new model will fit in available VRAM in single GPU, loading" ... parallel=4 available=11811160064
void read_will_fit(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    set_field(reader, mention, "available", "estimate_free");
    if (const auto parallel = field(mention.line, "parallel"))
        reader.set("n_parallel", count(*parallel), mention.number);
}

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

/// "llama runner started in 140.25 seconds".
void read_ready(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.set("load_seconds", count(mention.rest), mention.number);
    reader.ready(mention.number);
}

/// msg="llama-server load failed; reducing automatic context and retrying once" old_num_ctx=32768 new_num_ctx=16384
void read_retry(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::ollama);
    reader.load().retried = true;
    reader.load().dead = true;
    const auto from = field(mention.line, "old_num_ctx"), to = field(mention.line, "new_num_ctx");
    reader.new_model(mention.number);
    reader.load().retried = reader.load().dead = false; // the same object where the log shows nothing before
    reader.load().options.clear();
    if (to) reader.set("n_ctx_seq", count(*to), mention.number);
    reader.ignore_rest_of_line(); // the error of the load before
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

/// What stands before the number that was refused, with the number: sizes end with A where they were had, with F where not.
std::optional<std::string_view> up_to_refused(std::string_view text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        const bool digit = text[i - 1] >= '0' && text[i - 1] <= '9';
        if (text[i] == 'F' && digit && std::string_view(" ]}").find(text[i + 1]) != std::string_view::npos)
            return text.substr(0, i);
    }
    return std::nullopt;
}

/// "panic: insufficient memory - required allocations: {InputWeights:1A CPU:{...} GPUs:[{Name:CUDA0 ID:.. Weights:[1A 2F]
/// Cache:[0U] Graph:0U}]}" (Ollama, ml/device.go). Without the panic it tries again with fewer layers.
void read_no_memory(LogReader& reader, const Mention& mention) {
    if (mention.line.substr(0, mention.at).find("panic") == std::string_view::npos) return;
    reader.sign(LogRuntime::ollama);
    const auto head = up_to_refused(mention.rest);
    if (!head) return reader.failed(FailureStage::weights, mention);
    const auto last = [&](std::string_view key) { return head->rfind(key) + 1; }; // 0 where it is missing
    LogRefusal refusal;
    refusal.line = mention.number;
    if (const std::size_t name = last("Name:"); name > 0)
        refusal.device = std::string(word(head->substr(name + 4)).substr(0, 60));
    if (const auto bytes = size_in(head->substr(head->find_last_not_of("0123456789") + 1)))
        refusal.bytes = Logged{*bytes, mention.number};
    reader.load().refusal = refusal;
    const std::size_t weights = last("Weights:"), cache = last("Cache:"), graph = last("Graph:");
    reader.failed(graph > cache && graph > weights ? FailureStage::compute
                  : cache > weights                ? FailureStage::kv_cache
                                                   : FailureStage::weights,
                  mention);
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

/// The last word of `text`, which it loses.
std::string_view take_last_word(std::string_view& text) {
    text = trimmed(text);
    const std::string_view last = text.substr(text.find_last_of(" \t") + 1);
    text.remove_suffix(last.size());
    return last;
}

bool is_digest(std::string_view word) {
    return word.size() == 12 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// "8192       4 minutes from now": the context, which older tables do not have.
std::optional<std::uint64_t> context_of_row(std::string_view text) {
    const std::string_view first = word(text);
    const std::string_view behind = word(text.substr(text.find(first) + first.size()));
    const bool is_time = behind.starts_with("second") || behind.starts_with("minute") || behind.starts_with("hour") ||
                         behind.starts_with("day") || behind.starts_with("week");
    return is_time ? std::nullopt : count(first);
}

/// "qwen3:32b    0000000000aa    27 GB     38%/62% CPU/GPU    8192       4 minutes from now", whatever stands before it.
void read_table_row(LogReader& reader, const Mention& mention) {
    std::string_view head = mention.line.substr(0, mention.at + 1);
    const std::size_t percent = head.find_last_of(" \t") + 1;
    std::string_view row = head.substr(0, percent);
    const std::string_view unit = take_last_word(row), amount = take_last_word(row), id = take_last_word(row);
    const std::string_view name = take_last_word(row);
    if (!is_digest(id) || name.empty() || name.size() > 100) return;
    std::string_view rest = mention.rest;
    const std::string_view processor = mention.line.substr(percent, mention.line.size() - rest.size() - percent +
                                                                        rest.substr(0, rest.find(' ')).size());
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    const auto context = context_of_row(rest);
    reader.sign(LogRuntime::ollama);
    Load& load = reader.load();
    const auto rows = load.number("ps_rows");
    reader.set("ps_rows", rows ? rows->value + 1 : 1, mention.number);
    load.name = rows ? "" : std::string(name);
    const auto known = load.number("n_ctx");
    if (!rows || (known && context && known->value == *context))
        reader.set("n_ctx", context, mention.number);
    else
        load.numbers.erase("n_ctx");
    const double bytes = unit == "MB" ? 1e6 : unit == "KB" ? 1e3 : 1e9; // decimal units here
    if (const auto size = number(amount); size && !rows) reader.set("ps_size", bytes_of(*size, bytes), mention.number);
    if (processor.find("CPU") != std::string_view::npos)
        reader.note(std::string(name) + " runs " + std::string(processor) + ": what lies on the CPU slows every token");
}

void read_table_header(LogReader& reader, const Mention& mention) {
    if (mention.line.find("NAME") != std::string_view::npos && mention.line.find("SIZE") != std::string_view::npos)
        reader.sign(LogRuntime::ollama);
}

constexpr std::array rules{
    Rule{"insufficient memory - required allocations: ", read_no_memory},
    Rule{"source=memory.go", read_sign},
    Rule{"source=server.go", read_sign},
    Rule{"source=sched.go", read_sign},
    Rule{"source=routes.go", read_sign},
    Rule{"source=llama_server.go", read_sign},
    Rule{"source=runner.go", read_sign},
    Rule{"source=ggml.go", read_sign},
    Rule{"source=device.go", read_sign},
    Rule{"ollama[", read_sign},
    Rule{"/go/src/github.com/jmorganca/ollama/", read_sign}, // where it is built
    Rule{"/go/src/github.com/ollama/ollama/", read_sign},
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
    Rule{" MB VRAM available", read_available},
    Rule{"will fit in available VRAM in single GPU", read_will_fit},
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
    Rule{"you may not have enough available memory to run", read_resource_limits}, // 2023
    Rule{"PROCESSOR", read_table_header},
    Rule{"0% GPU", read_table_row},
    Rule{"0% CPU", read_table_row},
    Rule{"% CPU/GPU", read_table_row},
};

} // namespace

std::span<const Rule> ollama_rules() { return rules; }

} // namespace vramfit
