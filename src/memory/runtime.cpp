#include "vramfit/memory/runtime.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

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
    return rows == "slots" ? RuntimeProfile::Outputs::slots : RuntimeProfile::Outputs::batch;
}

RuntimeProfile read_profile(const json& entry) {
    RuntimeProfile p;
    p.id = entry.at("id");
    p.program = entry.at("program");
    p.aliases = entry.at("aliases").get<std::vector<std::string>>();
    const json& slots = entry.at("slots");
    p.slots = slots.at("default");
    p.unified = slots.at("unified");
    p.unified_when_given = slots.at("unified_when_given");
    const json& outputs = entry.at("outputs");
    p.outputs = outputs_of(outputs.at("rows"));
    p.embedding_outputs = outputs_of(outputs.at("rows_with_embeddings"));
    p.draft_tokens = outputs.at("draft_tokens");
    p.n_batch = entry.at("batch").at("n_batch");
    p.n_ubatch = entry.at("batch").at("n_ubatch");
    p.least_ctx = entry.at("least_ctx").at("tokens");
    for (const json& name : entry.at("cache_types").at("types"))
        p.cache_types.push_back(parse_tensor_type(name.get<std::string>()).value());
    p.flags = texts_of(entry.at("flags"));
    const json& failures = entry.at("failures");
    p.failures = texts_of(failures);
    p.allocations = texts_of(failures.at("allocation"));
    p.buffers = texts_of(failures.at("buffers"));
    return p;
}

/// The entry `id` with what it takes over from the one that it is like.
json resolved(const json& list, std::string_view id) {
    for (const json& entry : list) {
        if (entry.at("id") != id) continue;
        if (!entry.contains("like")) return entry;
        json whole = resolved(list, entry["like"].get<std::string>());
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
    std::string text;
    for (std::size_t i = 0; i < list.size(); ++i)
        text += (i == 0 ? "" : i + 1 == list.size() ? " and " : ", ") + list[i].at("id").get<std::string>();
    return text;
}

void replace(std::string& text, std::string_view what, const std::string& with) {
    if (const auto at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
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
    const json document = json::parse(text);
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
    for (const auto& [written, id] : names) known.push_back(written);
    const std::string near = did_you_mean(name, known);
    throw Error("unknown runtime " + quote(name) + (near.empty() ? "; " + described(list) + " are known" : near));
}

RuntimeProfile find_runtime(std::string_view name) { return find_runtime(name, bundled()); }

std::vector<RuntimeProfile> runtimes() {
    const json document = json::parse(bundled());
    const json& list = document.at("runtimes");
    std::vector<RuntimeProfile> profiles;
    for (const json& entry : list) profiles.push_back(read_profile(resolved(list, entry.at("id").get<std::string>())));
    return profiles;
}

} // namespace vramfit
