#include "vramfit/memory/runtime.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <cassert>

namespace vramfit {
namespace {

using nlohmann::json;
using Texts = std::map<std::string, std::string, std::less<>>;

Texts texts_of(const json& object) {
    Texts texts;
    for (const auto& [key, value] : object.items()) {
        if (value.is_string() && key != "source") texts.emplace(key, value.get<std::string>());
    }
    return texts;
}

RuntimeProfile::Outputs outputs_of(const std::string& rows) {
    if (rows != "slots" && rows != "batch")
        throw Error("runtimes.json: rows must be slots or batch, not " + quote(rows));
    return rows == "slots" ? RuntimeProfile::Outputs::slots : RuntimeProfile::Outputs::batch;
}

/// A count that is not negative: JSON's reader turns -1 into 2^64 - 1.
std::uint64_t count_at(const json& entry, const char* key) {
    const json& value = entry.at(key);
    if (!value.is_number_unsigned()) throw Error("runtimes.json: " + std::string(key) + " must be a whole number");
    return value.get<std::uint64_t>();
}

TensorType cache_type_of(const std::string& name) {
    if (const auto type = parse_tensor_type(name)) return *type;
    throw Error("runtimes.json: unknown cache type " + quote(name));
}

/// What every profile must be able to write.
void check_texts(const RuntimeProfile& p) {
    const auto need = [&](const Texts& texts, std::string_view kind, std::string_view key) {
        if (!texts.contains(key))
            throw Error("runtimes.json: " + quote(p.id) + " lacks the " + std::string(kind) + " " + std::string(key));
    };
    for (const char* setting : {"model",
                                "n_ctx",
                                "gpu_layers",
                                "tensor_split",
                                "split_mode",
                                "main_gpu",
                                "override_tensor",
                                "n_cpu_moe",
                                "cpu_moe",
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
                                "ngl_draft",
                                "cache_type_k_draft",
                                "cache_type_v_draft",
                                "lora"})
        need(p.flags, "flag", setting);
    for (const char* part : {"weights", "kv_cache", "recurrent_state", "compute"}) need(p.failures, "failure", part);
    for (const char* backend : {"cuda", "metal", "vulkan"}) need(p.allocations, "allocation", backend);
    for (const char* backend : {"cuda", "rocm", "metal", "vulkan"}) need(p.buffers, "buffer", backend);
}

RuntimeProfile read_profile(const json& entry) {
    RuntimeProfile p;
    p.id = entry.at("id");
    p.program = entry.at("program");
    p.aliases = entry.at("aliases").get<std::vector<std::string>>();
    const json& slots = entry.at("slots");
    p.slots = count_at(slots, "default");
    p.unified = slots.at("unified");
    p.unified_when_given = slots.at("unified_when_given");
    const json& outputs = entry.at("outputs");
    p.outputs = outputs_of(outputs.at("rows"));
    p.embedding_outputs = outputs_of(outputs.at("rows_with_embeddings"));
    p.draft_tokens = count_at(outputs, "draft_tokens");
    p.n_batch = count_at(entry.at("batch"), "n_batch");
    p.n_ubatch = count_at(entry.at("batch"), "n_ubatch");
    p.least_ctx = count_at(entry.at("least_ctx"), "tokens");
    const json& host = entry.at("host");
    p.prompt_cache = checked_mul(count_at(host, "prompt_cache_mib"), mib, "a prompt cache");
    p.checkpoints = count_at(host, "checkpoints");
    p.checkpoint_step = count_at(host, "checkpoint_step");
    for (const json& name : entry.at("cache_types").at("types"))
        p.cache_types.push_back(cache_type_of(name.get<std::string>()));
    p.flags = texts_of(entry.at("flags"));
    const json& failures = entry.at("failures");
    p.failures = texts_of(failures);
    p.allocations = texts_of(failures.at("allocation"));
    p.buffers = texts_of(failures.at("buffers"));
    check_texts(p);
    return p;
}

/// The entry `id` with what it takes over from the one that it is like. `depth`: how many stand before it.
json resolved(const json& list, std::string_view id, std::size_t depth = 0) {
    if (depth > list.size()) throw Error("runtimes.json: " + quote(id) + " is like itself");
    for (const json& entry : list) {
        if (entry.at("id") != id) continue;
        if (!entry.contains("like")) return entry;
        json whole = resolved(list, entry["like"].get<std::string>(), depth + 1);
        whole.update(entry);
        return whole;
    }
    throw Error("runtimes.json: a runtime is like the unknown " + quote(id));
}

/// Every name with the id of its profile.
std::vector<std::pair<std::string, std::string>> names_of(const json& list) {
    std::vector<std::pair<std::string, std::string>> names;
    for (const json& entry : list) {
        const std::string id = entry.at("id");
        names.emplace_back(id, id);
        for (const json& alias : entry.at("aliases")) names.emplace_back(alias.get<std::string>(), id);
    }
    return names;
}

/// "llama.cpp and llama-cli".
std::string described(const json& list) {
    std::vector<std::string> ids;
    for (const json& entry : list) ids.push_back(entry.at("id"));
    return enumerated(ids, "and");
}

void replace(std::string& text, std::string_view what, const std::string& with) {
    if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
}

/// Runs `read`, whose JSON exceptions are Errors of the file.
template <typename Read>
auto reading(Read read) {
    try {
        return read();
    } catch (const json::exception& e) {
        throw Error(std::string("runtimes.json: ") + e.what());
    }
}

RuntimeProfile find_in(const json& document, std::string_view name) {
    const json& list = document.at("runtimes");
    const std::string key = normalize_name(name);
    const auto names = names_of(list);
    for (const auto& [written, id] : names) {
        if (normalize_name(written) == key) return read_profile(resolved(list, id));
    }
    for (const json& planned : document.at("not_yet")) {
        if (normalize_name(planned.get<std::string>()) == key)
            throw Error("runtime " + planned.get<std::string>() + " is not described yet; " + described(list) + " are");
    }
    std::vector<std::string_view> known;
    known.reserve(names.size());
    for (const auto& [written, id] : names) known.push_back(written);
    const std::string near = did_you_mean(name, known);
    throw Error("unknown runtime " + quote(name) + (near.empty() ? "; " + described(list) + " are known" : near));
}

std::string_view bundled() { return embedded::file("runtimes.json").value(); }

} // namespace

const std::string& RuntimeProfile::flag(std::string_view setting) const {
    const auto found = flags.find(setting);
    assert(found != flags.end());
    return found->second;
}

std::string RuntimeProfile::failure(std::string_view part, std::string_view backend, std::size_t device,
                                    std::uint64_t bytes) const {
    // ROCm builds print what CUDA builds print: the same source is compiled for both.
    const auto allocation = allocations.find(backend == "rocm" ? "cuda" : backend);
    const auto last = failures.find(part);
    const auto buffer = buffers.find(backend);
    assert(allocation != allocations.end() && last != failures.end() && buffer != buffers.end());
    std::string mebibytes = format_exact_mib(bytes);
    mebibytes.resize(mebibytes.find(' '));
    std::string text = allocation->second + "; " + last->second;
    replace(text, "{mib}", mebibytes);
    replace(text, "{bytes}", std::to_string(bytes));
    replace(text, "{device}", std::to_string(device));
    replace(text, "{buffer}", buffer->second + std::to_string(device));
    return text;
}

RuntimeProfile find_runtime(std::string_view name, std::string_view text) {
    return reading([&] { return find_in(json::parse(text), name); });
}

RuntimeProfile find_runtime(std::string_view name) { return find_runtime(name, bundled()); }

std::vector<RuntimeProfile> runtimes() {
    return reading([] {
        const json document = json::parse(bundled());
        const json& list = document.at("runtimes");
        std::vector<RuntimeProfile> profiles;
        for (const json& entry : list)
            profiles.push_back(read_profile(resolved(list, entry.at("id").get<std::string>())));
        return profiles;
    });
}

} // namespace vramfit
