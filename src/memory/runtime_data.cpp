#include "runtime_data.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace vramfit {
namespace {

using nlohmann::json;
using Texts = RuntimeProfile::Texts;

/// What can be set, under the names that entries use.
constexpr std::array<std::string_view, 38> settings{"model",
                                                    "hf_repo",
                                                    "n_ctx",
                                                    "gpu_layers",
                                                    "gpu_layers_all",
                                                    "tensor_split",
                                                    "split_mode",
                                                    "main_gpu",
                                                    "n_cpu_moe",
                                                    "cpu_moe",
                                                    "override_tensor",
                                                    "cache_type_k",
                                                    "cache_type_v",
                                                    "flash_attn",
                                                    "parallel",
                                                    "kv_unified",
                                                    "no_kv_unified",
                                                    "n_batch",
                                                    "n_ubatch",
                                                    "no_op_offload",
                                                    "no_kv_offload",
                                                    "swa_full",
                                                    "embeddings",
                                                    "mtp",
                                                    "mmproj",
                                                    "no_mmproj",
                                                    "model_draft",
                                                    "hf_repo_draft",
                                                    "ngl_draft",
                                                    "lora",
                                                    "cache_type_k_draft",
                                                    "cache_type_v_draft",
                                                    "memory_share",
                                                    "cache_dtype",
                                                    "no_cuda_graphs",
                                                    "fit",
                                                    "tensor_parallel",
                                                    "layers_parallel"};

Texts texts_of(const json& object) {
    Texts texts;
    for (const auto& [key, value] : object.items()) {
        if (value.is_string() && key != "source") texts.emplace(key, value.get<std::string>());
    }
    return texts;
}

/// The texts under `key` by setting, if the entry has it.
Texts settings_of(const json& entry, const char* key) {
    if (!entry.contains(key)) return {};
    Texts texts = texts_of(entry[key]);
    for (const auto& [setting, text] : texts) {
        if (std::ranges::find(settings, setting) == settings.end())
            throw Error("runtimes.json: unknown setting " + quote(setting) + " among the " + key);
    }
    return texts;
}

/// A count that is not negative: JSON's reader turns -1 into 2^64 - 1.
std::uint64_t count_at(const json& entry, const char* key) {
    const json& value = entry.at(key);
    if (!value.is_number_unsigned()) throw Error("runtimes.json: " + std::string(key) + " must be a whole number");
    return value.get<std::uint64_t>();
}

std::uint64_t count_at(const json& entry, const char* key, std::uint64_t otherwise) {
    return entry.contains(key) ? count_at(entry, key) : otherwise;
}

template <typename Value>
Value choice_of(const std::string& text, const char* what,
                std::initializer_list<std::pair<std::string_view, Value>> choices) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) {
        if (name == text) return value;
        names.push_back(name);
    }
    throw Error("runtimes.json: " + std::string(what) + " must be " + enumerated(names, "or") + ", not " + quote(text));
}

RuntimeProfile::Outputs outputs_of(const std::string& rows) {
    using Outputs = RuntimeProfile::Outputs;
    return choice_of<Outputs>(rows, "rows", {{"slots", Outputs::slots}, {"batch", Outputs::batch}});
}

TensorType cache_type_of(const std::string& name) {
    if (const auto type = parse_tensor_type(name)) return *type;
    throw Error("runtimes.json: unknown cache type " + quote(name));
}

void read_context(RuntimeProfile& p, const json& context) {
    using Reserve = RuntimeProfile::Reserve;
    const json& rule = context.at("default");
    if (rule.is_array()) {
        for (const json& tier : rule)
            p.default_ctx.push_back(
                {checked_mul(count_at(tier, "memory_gib"), gib, "a tier"), count_at(tier, "n_ctx")});
    } else if (rule.is_number()) {
        p.default_ctx.push_back({0, count_at(context, "default")});
    } else if (rule != "trained") {
        throw Error("runtimes.json: a default context must be trained, a number or tiers of memory");
    }
    p.fits_ctx = context.value("fitted", false);
    p.caps_ctx = context.value("capped", false);
    p.ctx_per_slot = context.value("per_slot", false);
    p.ctx_extra = count_at(context, "extra", 0);
    p.reserve = choice_of<Reserve>(context.at("reserved"), "reserved",
                                   {{"load", Reserve::load}, {"growing", Reserve::growing}, {"share", Reserve::share}});
}

void read_slots(RuntimeProfile& p, const json& slots) {
    p.slots = count_at(slots, "default");
    p.unified = slots.at("unified");
    p.unified_when_given = slots.at("unified_when_given");
    p.single_slot = slots.value("single", std::vector<std::string>{});
    p.embeds_itself = slots.value("single_for_embeddings", false);
}

AutoBatch auto_batch_of(const json& rule) {
    AutoBatch batch;
    for (const json& step : rule.at("steps"))
        batch.steps.push_back({count_at(step, "above_ctx"), count_at(step, "n_batch"),
                               checked_mul(count_at(step, "surcharge_mib"), mib, "a surcharge"),
                               count_at(step, "most_percent")});
    batch.load_percent = count_at(rule, "load_percent");
    batch.otherwise = count_at(rule, "otherwise");
    const json& small = rule.at("cuda_without_flash_attn");
    batch.small_above_ctx = count_at(small, "above_ctx");
    batch.small_memory = checked_mul(count_at(small, "memory_gib"), gib, "a small GPU");
    batch.small = count_at(small, "n_batch");
    batch.embeddings = count_at(rule, "embeddings");
    return batch;
}

void read_batch(RuntimeProfile& p, const json& batch) {
    p.n_batch = count_at(batch, "n_batch");
    p.n_ubatch = count_at(batch, "n_ubatch");
    p.one_batch = batch.value("one_setting", false);
    if (batch.contains("automatic")) p.auto_batch = auto_batch_of(batch["automatic"]);
}

void read_host(RuntimeProfile& p, const json& host) {
    p.prompt_cache = checked_mul(count_at(host, "prompt_cache_mib"), mib, "a prompt cache");
    p.checkpoints = count_at(host, "checkpoints");
    p.checkpoint_step = count_at(host, "checkpoint_step");
}

void read_attention(RuntimeProfile& p, const json& attention) {
    p.flash_attn = choice_of<FlashAttention>(
        attention.at("flash_attn"), "flash_attn",
        {{"auto", FlashAttention::automatic}, {"on", FlashAttention::on}, {"off", FlashAttention::off}});
    p.swa_full = attention.value("swa_full", false);
}

void read_failures(RuntimeProfile& p, const json& failures) {
    p.failures = texts_of(failures);
    p.allocations = texts_of(failures.at("allocation"));
    p.buffers = texts_of(failures.at("buffers"));
    const auto need = [&](const Texts& texts, std::string_view kind, std::string_view key) {
        if (!texts.contains(key))
            throw Error("runtimes.json: " + quote(p.id) + " lacks the " + std::string(kind) + " " + std::string(key));
    };
    for (const char* part : {"weights", "kv_cache", "recurrent_state", "compute"}) need(p.failures, "failure", part);
    for (const char* backend : {"cuda", "metal", "vulkan"}) need(p.allocations, "allocation", backend);
    for (const char* backend : {"cuda", "rocm", "metal", "vulkan"}) need(p.buffers, "buffer", backend);
}

void read_sources(RuntimeProfile& p, const json& entry) {
    for (const auto& [part, rule] : entry.items()) {
        if (rule.is_object() && rule.contains("source")) p.sources.emplace(part, rule["source"].get<std::string>());
        constexpr std::string_view end = "_source"; // of a rule that is no object
        if (part.ends_with(end) && rule.is_string())
            p.sources.emplace(part.substr(0, part.size() - end.size()), rule.get<std::string>());
    }
}

} // namespace

RuntimeProfile runtime_of(const json& entry) {
    RuntimeProfile p;
    p.id = entry.at("id");
    p.program = entry.at("program");
    p.alone = entry.value("alone", "");
    p.name = entry.at("name");
    p.takes_files = entry.value("takes_files", true);
    p.version = entry.at("version");
    p.aliases = entry.at("aliases").get<std::vector<std::string>>();
    read_context(p, entry.at("context"));
    read_slots(p, entry.at("slots"));
    p.least_ctx = count_at(entry.at("least_ctx"), "tokens");
    p.flags = settings_of(entry, "flags");
    p.environment = settings_of(entry, "environment");
    p.elsewhere = settings_of(entry, "elsewhere");
    if (entry.contains("engine")) { // which has rules of its own for all that follows
        p.serving = parse_serving_profile(entry["engine"].dump(), p.id);
        p.n_batch = p.n_ubatch = p.serving->tiers.front().n_batch;
        read_sources(p, entry);
        read_sources(p, entry["engine"]);
        return p;
    }
    const json& outputs = entry.at("outputs");
    p.outputs = outputs_of(outputs.at("rows"));
    p.embedding_outputs = outputs_of(outputs.at("rows_with_embeddings"));
    p.draft_tokens = count_at(outputs, "draft_tokens");
    read_batch(p, entry.at("batch"));
    p.one_gpu_percent = entry.contains("placement") ? count_at(entry["placement"], "one_gpu_percent") : 0;
    read_host(p, entry.at("host"));
    for (const json& name : entry.at("cache_types").at("types"))
        p.cache_types.push_back(cache_type_of(name.get<std::string>()));
    read_attention(p, entry.at("attention"));
    p.compute_measured = entry.at("compute_measured");
    if (entry.contains("hints")) p.hints = texts_of(entry["hints"]);
    p.separators = settings_of(entry, "separators");
    if (entry.contains("values")) {
        for (const auto& [setting, words] : entry["values"].items()) {
            if (words.is_object()) p.values.emplace(setting, texts_of(words));
        }
    }
    p.has_fit = entry.value("has_fit", true);
    p.layers_by_default = entry.value("layers_by_default", true);
    read_sources(p, entry);
    if (entry.contains("without_gpu_layers")) p.without_gpu_layers = entry["without_gpu_layers"].at("says");
    read_failures(p, entry.at("failures"));
    return p;
}

} // namespace vramfit
