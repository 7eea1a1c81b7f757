#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/answer.hpp"
#include "vramfit/base/bytes.hpp"

#include <string>
#include <utility>
#include <vector>

/// Answers put together by hand, so that what is shown can be worked out by hand.
namespace vramfit::test {

inline cli::Terminal utf8_pipe() {
    return {false, [](const char* name) { return std::string(name) == "LANG" ? "C.UTF-8" : ""; }};
}

inline cli::Terminal ascii_pipe() {
    return {false, [](const char*) { return std::string(); }};
}

/// A device with these parts; what follows from them is worked out here.
inline DeviceAnswer device(std::string name, std::uint64_t total, DeviceMemory memory, Verdict verdict) {
    DeviceAnswer d;
    d.name = std::move(name);
    d.total = d.available = total;
    d.memory = memory;
    d.overhead = 750 * mib; // driver 450, context 300
    d.overhead_low = 170 * mib;
    d.overhead_high = 1050 * mib;
    d.overhead_basis = "driver 450 MiB (typical, 60 to 500 seen), context 300 MiB (typical, 110 to 550 seen)";
    d.wanted = gib;
    d.required = memory.sum() + d.overhead;
    d.headroom = static_cast<std::int64_t>(d.available) - static_cast<std::int64_t>(d.required);
    d.verdict = verdict;
    return d;
}

/// 32 layers of 8 KV heads of 128, 32768 tokens in f16: 64 MiB for K and as much for V in each.
inline Cache llama_cache(std::uint64_t cells = 32768) {
    Cache cache;
    cache.kind = "full";
    cache.cells = cells;
    for (std::int32_t il = 0; il < 32; ++il) {
        CacheLayer layer;
        layer.il = il;
        layer.device = 0;
        layer.k_width = layer.v_width = 1024;
        layer.k_bytes = layer.v_bytes = cells * 1024 * 2;
        cache.layers.push_back(layer);
    }
    return cache;
}

/// Llama 3.1 8B in Q4_K_M with 32768 tokens. Weights: 4403.49 MiB on the device and the token embedding, 128256 rows
/// of 2304 bytes, on the host, as llama.cpp's log says.
inline Answer llama_answer(std::string name, std::uint64_t total, Verdict verdict) {
    Answer a;
    a.verdict = verdict;
    a.model = {"llama3.1-8b", "catalog", "llama", 8030261312, 4912898304, 32, 131072};
    a.settings = {"llama.cpp",     "Q4_K_M",        32768, 32768, 4,  true, 2048, 512,
                  TensorType::f16, TensorType::f16, true,  4,     33, 0,    false};
    a.devices = {device(std::move(name), total, {4617396480, 4 * gib, 0, 140 * mib + 8 * kib}, verdict)};
    a.host.weights = 295501824;
    a.host.compute = 48 * mib;
    a.host.output = 2052096;
    a.overhead = 750 * mib;
    a.kv_bytes_per_token = 131072;
    a.margin = gib;
    a.max_ctx = {131072, 131072, ContextLimit::model};
    a.command = "llama-server -m MODEL.gguf -c 32768 -ngl 99";
    a.estimate.caches = {llama_cache()};
    a.estimate.flash_attn = true;
    a.estimate.context.n_tokens = 512;
    a.estimate.context.n_outputs = 4;
    a.estimate.n_nodes = 998;
    a.estimate.n_splits = 2;
    return a;
}

inline Answer fitting_answer() { return llama_answer("24GB", 24 * gib, Verdict::fit); }

/// The same on 8 GiB: 1197.50 MiB too much.
inline Answer failing_answer() {
    Answer a = llama_answer("8GB", 8 * gib, Verdict::oom);
    a.max_ctx = {15104, 23040, ContextLimit::memory};
    a.failure = Failure{"context", std::nullopt,
                        "allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory; failed to allocate "
                        "buffer for kv cache"};
    Suggestion ctx;
    ctx.kind = "ctx";
    ctx.summary = "a context of 15104 instead of 32768";
    ctx.set = {{"n_ctx", std::uint64_t{15104}}};
    ctx.verdict = Verdict::fit;
    ctx.flags = {"-c", "15104"};
    ctx.saved = (32768 - 15104) * 129 * kib; // 128 KiB of cache a token and 1 KiB of compute buffer
    ctx.command = "llama-server -m MODEL.gguf -c 15104 -ngl 99";
    Suggestion cache;
    cache.kind = "cache_type";
    cache.summary = "the KV cache in q8_0 (close to lossless; needs flash attention)";
    cache.set = {{"cache_type_k", std::string("q8_0")}, {"cache_type_v", std::string("q8_0")}};
    cache.verdict = Verdict::tight;
    cache.flags = {"-ctk", "q8_0", "-ctv", "q8_0"};
    cache.saved = 4 * gib / 32 * 15; // 34 bytes of 64
    cache.command = "llama-server -m MODEL.gguf -c 32768 -ngl 99 -ctk q8_0 -ctv q8_0";
    a.suggestions = {ctx, cache};
    return a;
}

inline Answer refused_answer() {
    Answer a = llama_answer("24GB", 24 * gib, Verdict::refused);
    a.settings.type_v = TensorType::q8_0;
    a.failure = Failure{"load", std::nullopt, "quantized V cache requires flash_attn to be enabled"};
    return a;
}

/// Half on each of two devices, the first without room for its half.
inline Answer split_answer() {
    Answer a = fitting_answer();
    const DeviceMemory half{2 * gib + 128 * mib, 2 * gib, 0, 128 * mib};
    a.verdict = Verdict::oom;
    a.devices = {device("4GB", 4 * gib, half, Verdict::oom), device("rtx3090", 24 * gib, half, Verdict::fit)};
    a.max_ctx = {0, 0, ContextLimit::memory};
    return a;
}

/// The widest line of a text, in columns.
inline std::size_t widest_line(const std::string& text, std::size_t (*width)(std::string_view)) {
    std::size_t widest = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        widest = std::max(widest, width(rest.substr(0, end)));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return widest;
}

} // namespace vramfit::test
