// What PyTorch, transformers and vLLM print. Their messages are long and get wrapped: those with several
// figures are read from the lines put together without blanks.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

using namespace log_text;

/// The size in front of `mark`: "4.61GiBalreadyallocated".
std::optional<std::uint64_t> size_before(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t start = at;
    while (start > 0 && (text[start - 1] == '.' || (text[start - 1] >= '0' && text[start - 1] <= '9') ||
                         std::string_view("GMKTiBbytes").find(text[start - 1]) != std::string_view::npos))
        --start;
    const std::size_t digits = text.find_first_of("0123456789", start);
    return digits < at ? size_in(text.substr(digits, at - digits)) : std::nullopt;
}

/// The same error once more, in fewer words: "Capture cuda graph failed: CUDA out of memory. Tried to allocate 594 MiB".
bool is_repeated(const Load& load, const LogRefusal& refusal) {
    if (!load.failure || !load.failure->refusal.bytes || !refusal.bytes || !refusal.device.empty()) return false;
    return load.failure->refusal.bytes->value == refusal.bytes->value && refusal.line - load.failure->line < 200;
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
    for (const std::string_view mark : {"(GPU", "GPU"}) {
        const auto rest = after(text, mark);
        const auto id = rest && refusal.device.empty() ? count(*rest) : std::nullopt;
        if (id && *id < 1000) refusal.device = "GPU " + std::to_string(*id);
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
    if (!own && allocated) own = *allocated + slack.value_or(0);
    set("free_now", free);
    set("gpu_total", total);
    set("own", own);
    set("slack", slack);
    if (allocated) set("allocated", allocated);
    if (total && free && own && *free + *own <= *total) set("others", *total - *free - *own);
    const FailureStage stage = reader.take_frame();
    Load& load = reader.load();
    if (is_repeated(load, refusal)) return;
    const bool known = stage != FailureStage::none || load.ready;
    load.refusal = refusal;
    load.ready = false; // a server that has come up says what it was doing by its traceback
    reader.failed(stage == FailureStage::none ? FailureStage::generation : stage, mention);
    if (!load.failure) return;
    load.failure->text = before(mention.line, "Ifreserved");
    load.failure->time_known = known;
}

void collect_torch(LogReader& reader, const Mention& mention) {
    reader.evidence(mention);
    reader.sign(LogRuntime::pytorch);
    if (mention.line.substr(0, mention.at).ends_with("HIP ")) reader.set("hip", 1, mention.number);
    const Load& load = reader.load();
    if (load.failure && load.failure->refusal.bytes && !load.refusal && reader.load().part == LoadPart::model &&
        load.failure->text.starts_with("outofmemory") && mention.number - load.failure->line < 200)
        return; // the same error, once more on its way up
    reader.collect(mention, read_torch);
}

template <FailureStage Stage, int Rank>
void read_frame(LogReader& reader, const Mention& mention) {
    if (mention.line.find("File \"") == std::string_view::npos && mention.line.find('(') == std::string_view::npos &&
        mention.line.find("warming up") == std::string_view::npos)
        return;
    reader.frame(Rank, Stage);
}

void read_traceback(LogReader& reader, const Mention&) { reader.take_frame(); }

// ---- vLLM -------------------------------------------------------------------------------------------------------------

void read_vllm(LogReader& reader, const Mention&) { reader.sign(LogRuntime::vllm); }

void read_vllm_path(LogReader& reader, const Mention& mention) {
    if (is_frame_of(mention.line, mention.at, mention.rest,
                    {"v1/", "engine/", "worker/", "executor/", "model_executor/", "entrypoints/"}))
        reader.sign(LogRuntime::vllm);
}

/// "vLLM API server version 0.19.0", and "(V1) ... (v0.8.4) with config".
void read_vllm_version(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.new_process(mention.number);
    reader.load().version = std::string(word(mention.rest).substr(0, 40));
}

/// {'model': 'org/Mistral-7B-Instruct-v0.3', 'max_model_len': 16384, 'gpu_memory_utilization': 0.5}, or model='...',
/// max_seq_len=4096, quantization=awq.
void read_vllm_arguments(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    const std::string_view line = mention.line;
    for (const std::string_view mark : {"'model': '", " model='"}) {
        if (const auto name = after(line, mark)) reader.load().name = std::string(before(*name, "'").substr(0, 200));
    }
    for (const std::string_view mark : {"'max_model_len': ", "max_seq_len="}) {
        if (const auto n = after(line, mark)) reader.set("n_ctx", count(*n), mention.number);
    }
    for (const std::string_view mark : {"'tensor_parallel_size': ", "tensor_parallel_size=", "tp_size="}) {
        if (const auto n = after(line, mark)) reader.set("n_gpus", count(*n), mention.number);
    }
    for (const std::string_view mark : {"'gpu_memory_utilization': ", "gpu_memory_utilization="}) {
        if (const auto value = after(line, mark))
            reader.set_text("gpu_memory_utilization", before(before(*value, ","), "}"));
    }
    for (const std::string_view mark : {"'quantization': '", "quantization="}) {
        const auto value = after(line, mark);
        if (value && !value->starts_with("None")) reader.set_text("quantization", word(before(*value, "'")));
    }
    for (const std::string_view mark : {"'kv_cache_dtype': '", "kv_cache_dtype="}) {
        if (const auto value = after(line, mark)) reader.set_text("cache_type_k", word(before(*value, "'")));
    }
}

void read_vllm_loading(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    if (reader.load().dead || reader.load().ready) reader.new_process(mention.number);
    const std::string_view name = before(word(mention.rest), "...");
    if (reader.load().name.empty()) reader.load().name = std::string(name.substr(0, 200));
    reader.frame(1, FailureStage::weights);
}

void read_vllm_weights(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.set("weights", size_in(mention.rest), mention.number);
    reader.take_frame();
}

void read_vllm_available(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    const auto value = number(mention.rest);
    if (value && *value < 0)
        reader.set("kv_missing", size_in(mention.rest.substr(mention.rest.find('-') + 1)), mention.number);
    else
        reader.set("kv_cache", size_in(mention.rest), mention.number);
}

void read_vllm_tokens(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.set("kv_tokens", count(mention.rest), mention.number);
}

void read_vllm_concurrency(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.set("n_ctx", count(mention.rest), mention.number);
}

/// "To serve at least one request with the models's max seq len (A), (X GiB KV cache is needed, which is larger than the
/// available KV cache memory (Y GiB). Based on the available memory, the estimated maximum model length is N."
void read_serve_one(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    if (const auto n = after(text, "maxseqlen(")) reader.set("n_ctx", count(*n), mention.number);
    if (const auto n = after(text, "maximummodellengthis")) reader.set("max_ctx", count(*n), mention.number);
    const auto free = size_after(text, "KVcachememory(");
    reader.set("free_now", free, mention.number);
    LogRefusal refusal;
    refusal.line = mention.number;
    auto needed = size_before(text, "KVcacheisneeded");
    if (!needed) needed = size_before(text, ")KVcacheisneeded");
    if (needed) refusal.bytes = Logged{*needed, mention.number};
    reader.load().refusal = refusal;
    reader.failed(FailureStage::kv_cache, mention);
}

void collect_serve_one(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.evidence(mention);
    reader.collect(mention, read_serve_one);
}

/// "The model's max seq len (A) is larger than the maximum number of tokens that can be stored in KV cache (B)."
void read_too_few_tokens(LogReader& reader, const Mention& mention) {
    const auto held = after(mention.line, "storedinKVcache(");
    if (!held) return;
    reader.set("n_ctx", count(mention.line.substr(mention.line.find('(') + 1)), mention.number);
    reader.set("kv_tokens", count(*held), mention.number);
    reader.set("max_ctx", count(*held), mention.number);
    reader.failed(FailureStage::kv_cache, mention);
}

void collect_too_few_tokens(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.evidence(mention);
    reader.collect(mention, read_too_few_tokens);
}

/// "the current vLLM instance can use total_gpu_memory (AGiB) x gpu_memory_utilization (u) = BGiB", and the parts.
void read_profile(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    reader.set("gpu_total", size_after(text, "total_gpu_memory("), mention.number);
    reader.set("weights", size_after(text, "modelweightstake"), mention.number);
    reader.set("compute", size_after(text, "activationpeakmemorytakes"), mention.number);
    reader.set("others", size_after(text, "non_torch_memorytakes"), mention.number);
    if (const auto value = after(text, "reservedforKVCacheis")) {
        if (!value->starts_with('-')) reader.set("kv_cache", size_in(*value), mention.number);
    }
    if (const auto value = after(text, "gpu_memory_utilization("))
        reader.set_text("gpu_memory_utilization", before(*value, ")"));
}

void collect_profile(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.collect(mention, read_profile);
}

void read_no_blocks(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.set("no_cache", 1, mention.number);
    reader.failed(FailureStage::kv_cache, mention);
}

/// "Free memory on device cuda:0 (1.9/23.6 GiB) on startup is less than desired GPU memory utilization (0.9, 21.2 GiB)."
void read_startup(LogReader& reader, const Mention& mention) {
    const std::string_view text = mention.line;
    const auto figures = after(text, "(");
    const auto total = figures ? after(*figures, "/") : std::nullopt;
    const auto wanted = after(text, "utilization(");
    const auto bytes = wanted ? after(*wanted, ",") : std::nullopt;
    if (!total) return;
    reader.set("gpu_total", size_in(*total), mention.number);
    reader.set("free_now", size_in(std::string(before(*figures, "/")) + "GiB"), mention.number);
    if (wanted) reader.set_text("gpu_memory_utilization", before(*wanted, ","));
    reader.set("share_asked", 1, mention.number);
    LogRefusal refusal;
    refusal.line = mention.number;
    if (const auto id = after(text, "cuda:")) refusal.device = "GPU " + std::to_string(count(*id).value_or(0));
    if (const auto size_wanted = bytes ? size_in(*bytes) : std::nullopt)
        refusal.bytes = Logged{*size_wanted, mention.number};
    reader.load().refusal = refusal;
    reader.failed(FailureStage::weights, mention, FailureCause::other_process);
}

void collect_startup(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.evidence(mention);
    reader.collect(mention, read_startup);
}

void read_ready(LogReader& reader, const Mention& mention) { reader.ready(mention.number); }

constexpr FailureStage weights = FailureStage::weights, cache = FailureStage::kv_cache, compute = FailureStage::compute,
                       generation = FailureStage::generation;

constexpr std::array rules{
    Rule{"out of memory. Tried to", collect_torch},
    Rule{"Traceback (most recent call last)", read_traceback},
    Rule{"initialize_kv_cache", read_frame<cache, 5>},
    Rule{"allocate_kv_cache", read_frame<cache, 5>},
    Rule{"init_memory_pool", read_frame<cache, 5>},
    Rule{"profile_run", read_frame<compute, 4>},
    Rule{"determine_num_available_blocks", read_frame<compute, 4>},
    Rule{"determine_available_memory", read_frame<compute, 4>},
    Rule{"warming up sampler", read_frame<compute, 6>},
    Rule{"capture_model", read_frame<compute, 4>},
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
    Rule{".backward(", read_frame<compute, 4>},
    Rule{"optimizer.step(", read_frame<compute, 4>},
    Rule{"execute_model", read_frame<generation, 2>},
    Rule{"EngineCore", read_vllm},
    Rule{"VllmWorker", read_vllm},
    Rule{"/vllm/", read_vllm_path},
    Rule{"gpu_memory_utilization", read_vllm},
    Rule{"vLLM API server version ", read_vllm_version},
    Rule{"non-default args:", read_vllm_arguments},
    Rule{"LLM engine (v", read_vllm_arguments},
    Rule{"Starting to load model ", read_vllm_loading},
    Rule{"Model loading took ", read_vllm_weights},
    Rule{"Loading model weights took ", read_vllm_weights},
    Rule{"Available KV cache memory: ", read_vllm_available},
    Rule{"GPU KV cache size: ", read_vllm_tokens},
    Rule{"# GPU blocks: ", read_vllm},
    Rule{"# cuda blocks: ", read_vllm},
    Rule{"Maximum concurrency for ", read_vllm_concurrency},
    Rule{"To serve at least one request", collect_serve_one},
    Rule{"The model's max seq len (", collect_too_few_tokens},
    Rule{"current vLLM instance can use", collect_profile},
    Rule{"No available memory for the cache blocks", read_no_blocks},
    Rule{"Free memory on device ", collect_startup},
    Rule{"Application startup complete", read_ready},
    Rule{"cuda_graph_runner.py\"", read_frame<compute, 4>},
    Rule{"The server is fired up and ready to roll", read_ready},
};

} // namespace

std::span<const Rule> python_rules() { return rules; }

} // namespace vramfit
