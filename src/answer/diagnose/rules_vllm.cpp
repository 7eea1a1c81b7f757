// What vLLM prints. Its messages are long and get wrapped: those with several figures are read from the lines put
// together without blanks.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>

namespace vramfit {
namespace {

using namespace log_text;

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
    if (const auto n = after(line, "'max_num_batched_tokens': ")) reader.set("n_batch", count(*n), mention.number);
    if (const auto n = after(line, "'max_num_seqs': ")) reader.set("max_num_seqs", count(*n), mention.number);
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

/// The weights lie there and the cache has its size; graphs and a trial run of the sampler come before it is ready.
void read_planned(LogReader& reader, const Mention&) { reader.frame(1, FailureStage::compute); }

void read_vllm_tokens(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.set("kv_tokens", count(mention.rest), mention.number);
    read_planned(reader, mention);
}

void read_vllm_blocks(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    read_planned(reader, mention);
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
    auto needed = size_before(text, "KVcacheisneeded");
    if (!needed) needed = size_before(text, ")KVcacheisneeded");
    reader.load().refusal = refusal_of(mention, "", needed);
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
    const auto id = after(text, "cuda:");
    const std::string device = id ? "GPU " + std::to_string(count(*id).value_or(0)) : "";
    reader.load().refusal = refusal_of(mention, device, bytes ? size_in(*bytes) : std::nullopt);
    reader.failed(FailureStage::weights, mention, FailureCause::other_process);
}

void collect_startup(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.evidence(mention);
    reader.collect(mention, read_startup);
}

// ---- The last steps of the start --------------------------------------------------------------------------------------

/// "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|...", a bar of progress, and the frames of it.
void read_capture(LogReader& reader, const Mention& mention) {
    if (reader.load().ready) return;
    reader.set("graph_capture", mention.number, mention.number);
    reader.frame(4, FailureStage::compute);
}

void read_captured(LogReader& reader, const Mention&) {
    reader.load().numbers.erase("graph_capture");
    reader.take_frame();
    reader.frame(1, FailureStage::compute);
}

/// "CUDA out of memory occurred when warming up sampler with 1024 dummy requests.": the last step of all.
void read_sampler(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.evidence(mention);
    reader.set("max_num_seqs", count(mention.rest), mention.number);
    reader.set("sampler", 1, mention.number);
    reader.load().numbers.erase("graph_capture"); // that came before
    reader.frame(6, FailureStage::compute);
    auto& failure = reader.load().failure;
    if (!failure) return reader.failed(FailureStage::compute, mention);
    if (failure->stage != FailureStage::generation) return;
    failure->stage = FailureStage::compute;
    failure->time_known = true;
}

/// "Error in memory profiling. Initial free memory 20.1 GiB, current free memory 21.4 GiB.": nothing was missing.
void read_profiling(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::vllm);
    reader.other_error(mention);
    reader.note(
        "another process gave memory of the card back while vLLM measured it: start it again when the card is at "
        "rest");
}

void read_ready(LogReader& reader, const Mention& mention) {
    reader.take_frame();
    reader.load().numbers.erase("graph_capture");
    reader.ready(mention.number);
}

/// A frame of the same step's traceback.
void read_sampler_frame(LogReader& reader, const Mention& mention) {
    if (mention.line.find("File \"") == std::string_view::npos) return;
    reader.frame(6, FailureStage::compute);
    reader.set("sampler", 1, mention.number);
}

constexpr std::array rules{
    Rule{"_dummy_sampler_run", read_sampler_frame},
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
    Rule{"# GPU blocks: ", read_vllm_blocks},
    Rule{"# cuda blocks: ", read_vllm_blocks},
    Rule{"Maximum concurrency for ", read_vllm_concurrency},
    Rule{"To serve at least one request", collect_serve_one},
    Rule{"The model's max seq len (", collect_too_few_tokens},
    Rule{"current vLLM instance can use", collect_profile},
    Rule{"No available memory for the cache blocks", read_no_blocks},
    Rule{"Free memory on device ", collect_startup},
    Rule{"Error in memory profiling", read_profiling},
    Rule{"Capturing CUDA graph", read_capture}, // "graphs", and "graph shapes" of version 0
    Rule{"capture_model", read_capture},
    Rule{"_capture_cudagraphs", read_capture},
    Rule{"Graph capturing finished in ", read_captured},
    Rule{"occurred when warming up sampler with ", read_sampler},
    Rule{"init engine (profile", read_ready}, // without a server, too
    Rule{"Application startup complete", read_ready},
};

} // namespace

std::span<const Rule> vllm_rules() { return rules; }

} // namespace vramfit
