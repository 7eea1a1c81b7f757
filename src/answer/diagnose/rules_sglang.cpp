// What SGLang prints.
#include "log_reader.hpp"
#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <array>

namespace vramfit {
namespace {

using namespace log_text;

void read_sglang(LogReader& reader, const Mention& mention) {
    if (!in_path(mention.line, mention.at) || is_frame_of(mention.line, mention.at, mention.rest, {"/srt/"}))
        reader.sign(LogRuntime::sglang);
}

void read_sglang_begin(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    reader.set("free", size_after(mention.rest, "avail mem="), mention.number);
    reader.frame(1, FailureStage::weights);
}

void read_sglang_end(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    reader.take_frame();
    const auto weights = size_after(mention.rest, "mem usage="), left = size_after(mention.rest, "avail mem=");
    reader.set("weights", weights, mention.number);
    reader.set("free_after_weights", left, mention.number);
    if (weights && left && *weights <= UINT64_MAX - *left)
        reader.set_once("free", *weights + *left, mention.number); // where the line before is missing
}

/// "KV Cache is allocated. #tokens: 71424, K size: 5.45 GB, V size: 5.45 GB"
void read_sglang_cache(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    if (const auto n = after(mention.rest, "#tokens: ")) reader.set("kv_tokens", count(*n), mention.number);
    const auto k = size_after(mention.rest, "K size: "), v = size_after(mention.rest, "V size: ");
    if (k) reader.set("kv_cache", *k + v.value_or(0), mention.number);
    reader.frame(1, FailureStage::compute);
}

void read_sglang_ctx(LogReader& reader, const Mention& mention) {
    reader.set("n_ctx", count(mention.rest), mention.number);
}

void read_sglang_arguments(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    const std::string_view line = mention.line;
    if (const auto name = after(line, "model_path='"))
        reader.load().name = std::string(before(*name, "'").substr(0, 200));
    if (const auto n = after(line, "tp_size=")) reader.set("n_gpus", count(*n), mention.number);
    if (const auto n = after(line, "context_length=")) reader.set("n_ctx", count(*n), mention.number);
    if (const auto value = after(line, "mem_fraction_static="))
        reader.set_text("mem_fraction_static", before(word(*value), ","));
    if (const auto n = after(line, "cuda_graph_max_bs=")) reader.set("graph_batch", count(*n), mention.number);
    if (const auto n = after(line, "chunked_prefill_size=")) reader.set("n_batch", count(*n), mention.number);
}

void read_graph_begin(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    reader.set("graph_capture", mention.number, mention.number);
    reader.frame(1, FailureStage::compute);
}

void read_graph_end(LogReader& reader, const Mention&) {
    reader.load().numbers.erase("graph_capture");
    reader.take_frame();
}

/// "Capture cuda graph failed: CUDA out of memory", with or without the figures behind it: still at the start.
void read_graph_failed(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    const bool memory = mention.rest.find("out of memory") != std::string_view::npos;
    if (!memory) return reader.other_error(mention);
    reader.set("graph_capture", mention.number, mention.number);
    reader.frame(6, FailureStage::compute);
    auto& failure = reader.load().failure;
    if (failure && failure->stage == FailureStage::generation)
        failure->stage = FailureStage::compute, failure->time_known = true;
    if (!failure && mention.rest.find("Tried to") == std::string_view::npos)
        reader.failed(FailureStage::compute, mention);
}

/// What the weights leave, less what the share keeps free for what runs (model_runner.py, profile_max_num_token): below
/// nothing, it is what is missing before the cache has anything.
void set_missing(LogReader& reader) {
    const Load& load = reader.load();
    const auto before = load.number("free"), after = load.number("free_after_weights");
    const auto said = load.texts.find("mem_fraction_static");
    const double share = said == load.texts.end() ? 0 : number(said->second).value_or(0);
    if (!before || !after || share <= 0 || share >= 1) return;
    const double kept = static_cast<double>(before->value) * (1 - share);
    if (kept > static_cast<double>(after->value))
        reader.set("kv_missing", static_cast<std::uint64_t>(kept) - after->value, 0);
}

/// "Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.85" (the value
/// since 2026), and "Not enough memory to allocate KV cache. Possible fixes: increase --mem-fraction-static, ...".
void read_not_enough(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    if (const auto value = after(mention.rest, "mem_fraction_static="))
        reader.set_text("mem_fraction_static", word(*value));
    reader.set("no_cache", 1, mention.number);
    set_missing(reader);
    reader.failed(FailureStage::kv_cache, mention);
}

/// "Prefill out of memory. Try to lower your batch size.", "Decode out of memory. ...": no tokens of the pool were left.
void read_pool_full(LogReader& reader, const Mention& mention) {
    reader.sign(LogRuntime::sglang);
    reader.failed(FailureStage::kv_cache, mention, FailureCause::kv_too_large);
    reader.note("the pool of the cache was full: it holds too few tokens for all that ran at once");
}

void read_ready(LogReader& reader, const Mention& mention) {
    reader.take_frame();
    reader.load().numbers.erase("graph_capture");
    reader.ready(mention.number);
}

constexpr std::array rules{
    Rule{"The server is fired up and ready to roll", read_ready},
    Rule{"ut of memory. Try to lower your batch size", read_pool_full},
    Rule{"sglang", read_sglang},
    Rule{"mem_fraction_static=", read_sglang_arguments},
    Rule{"Load weight begin.", read_sglang_begin},
    Rule{"Load weight end.", read_sglang_end},
    Rule{"KV Cache is allocated.", read_sglang_cache},
    Rule{"Capture cuda graph begin", read_graph_begin},
    Rule{"Capture cuda graph end", read_graph_end},
    Rule{"Capture cuda graph failed", read_graph_failed},
    Rule{"Capture CUDA graph failed", read_graph_failed},
    Rule{"context_len=", read_sglang_ctx},
    Rule{"Not enough memory. Please try to increase --mem-fraction-static", read_not_enough},
    Rule{"Not enough memory to allocate KV cache", read_not_enough},
};

} // namespace

std::span<const Rule> sglang_rules() { return rules; }

} // namespace vramfit
