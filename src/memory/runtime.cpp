#include "vramfit/memory/runtime.hpp"

#include "runtime_data.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <system_error>

namespace vramfit {
namespace {

using nlohmann::json;

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

/// The entry of that name with what it takes over.
json entry_in(const json& document, std::string_view name) {
    const json& list = document.at("runtimes");
    const std::string key = normalize_name(name);
    const auto names = names_of(list);
    for (const auto& [written, id] : names) {
        if (normalize_name(written) == key) return resolved(list, id);
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

/// 6325 of "b6325" and "6325".
std::uint64_t build_of(std::string_view version, const std::string& name) {
    std::string_view digits = version;
    if (digits.starts_with('b')) digits.remove_prefix(1);
    std::uint64_t build = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), build);
    if (error != std::errc{} || end != digits.data() + digits.size() || build == 0)
        throw Error("a version of " + name + " is the number of a build, such as b6325, not " + quote(version));
    return build;
}

/// The entry as it was in that build, newest changes undone first.
RuntimeProfile older_runtime(json entry, std::string_view version) {
    const std::string name = entry.at("name");
    if (version == entry.at("version").get<std::string>()) return runtime_of(entry);
    const json changes = entry.value("older", json::array());
    if (changes.empty())
        throw Error("one version of " + name + " is known, " + entry.at("version").get<std::string>() +
                    "; leave --runtime-version out");
    const std::uint64_t build = build_of(version, name);
    std::vector<std::string> notes;
    for (const json& change : changes) {
        const std::uint64_t without = change.at("last_without").get<std::uint64_t>();
        const std::uint64_t with = change.at("first_with").get<std::uint64_t>();
        if (build <= without)
            entry.merge_patch(change.at("before"));
        else if (build < with)
            notes.push_back(name + " got " + change.at("what").get<std::string>() + " between b" +
                            std::to_string(without) + " and b" + std::to_string(with) + ": b" + std::to_string(build) +
                            " is taken to have it");
    }
    RuntimeProfile profile = runtime_of(entry);
    profile.version = "b" + std::to_string(build);
    profile.version_notes = std::move(notes);
    return profile;
}

std::string_view bundled() { return embedded::file("runtimes.json").value(); }

} // namespace

std::uint64_t RuntimeProfile::default_context(std::uint64_t memory, std::uint64_t n_ctx_train) const {
    const auto tier = std::ranges::find_if(default_ctx, [&](const ContextTier& t) { return memory >= t.memory; });
    if (tier == default_ctx.end()) return n_ctx_train;
    return n_ctx_train == 0 ? tier->n_ctx : std::min(tier->n_ctx, n_ctx_train);
}

bool RuntimeProfile::can_set(std::string_view setting) const {
    return flags.contains(setting) || environment.contains(setting) || elsewhere.contains(setting);
}

RuntimeProfile::Written RuntimeProfile::written(std::string_view setting, const std::string& value) const {
    std::string word = value;
    if (const auto own = values.find(setting); own != values.end()) {
        const auto found = own->second.find(value);
        if (found == own->second.end()) return {};
        word = found->second;
    }
    if (const auto separator = separators.find(setting); separator != separators.end())
        std::ranges::for_each(word, [&](char& c) { c = c == ',' ? separator->second.front() : c; });
    if (const auto flag = flags.find(setting); flag != flags.end()) {
        Written written;
        if (!flag->second.empty()) written.words.push_back(flag->second);
        if (!word.empty()) written.words.push_back(word);
        return written;
    }
    if (const auto variable = environment.find(setting); variable != environment.end())
        return {Style::environment, {variable->second + "=" + word}};
    const auto text = elsewhere.find(setting);
    assert(text != elsewhere.end());
    Written written{Style::elsewhere, {text->second}};
    replace(written.words.front(), "{value}", word);
    return written;
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
    return reading([&] { return runtime_of(entry_in(json::parse(text), name)); });
}

RuntimeProfile find_runtime_version(std::string_view name, std::string_view version) {
    return reading([&] { return older_runtime(entry_in(json::parse(bundled()), name), version); });
}

RuntimeProfile find_runtime(std::string_view name) { return find_runtime(name, bundled()); }

std::vector<RuntimeProfile> runtimes() {
    return reading([] {
        const json document = json::parse(bundled());
        const json& list = document.at("runtimes");
        std::vector<RuntimeProfile> profiles;
        for (const json& entry : list)
            profiles.push_back(runtime_of(resolved(list, entry.at("id").get<std::string>())));
        return profiles;
    });
}

} // namespace vramfit
