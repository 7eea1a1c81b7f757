#include "vramfit/memory/serving_profile.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace vramfit {
namespace {

using nlohmann::json;

/// The value of a word; throws Error naming the words that there are.
template <typename Value, std::size_t n>
Value chosen(const json& entry, const char* key, const std::array<std::pair<std::string_view, Value>, n>& choices) {
    const std::string word = entry.at(key);
    for (const auto& [name, value] : choices) {
        if (name == word) return value;
    }
    throw Error("runtimes.json: unknown " + std::string(key) + " " + quote(word));
}

std::uint64_t mebibytes(const json& value) {
    return checked_mul(value.get<std::uint64_t>(), mib, "a size of runtimes.json");
}

TypicalBytes typical_at(const json& entry, const char* key) {
    if (!entry.contains(key)) return {};
    const json& value = entry[key];
    return {mebibytes(value.at("typical_mib")), mebibytes(value.at("low_mib")), mebibytes(value.at("high_mib"))};
}

CacheRules cache_of(const json& entry) {
    static constexpr std::array<std::pair<std::string_view, CacheRule>, 3> rules{
        {{"paged", CacheRule::paged}, {"token_pool", CacheRule::token_pool}, {"growing", CacheRule::growing}}};
    CacheRules cache;
    cache.rule = chosen(entry, "rule", rules);
    cache.block = std::max<std::uint64_t>(1, entry.value("block", std::uint64_t{1}));
    cache.state_blocks = entry.value("state_blocks", std::uint64_t{1});
    cache.window_share = entry.value("window_share", 1.0);
    cache.state_share = entry.value("state_share", 0.0);
    return cache;
}

std::vector<ServingProfile::Tier> tiers_of(const json& list) {
    std::vector<ServingProfile::Tier> tiers;
    for (const json& entry : list) {
        ServingProfile::Tier& tier = tiers.emplace_back();
        tier.below = entry.contains("below_gib") ? entry["below_gib"].get<std::uint64_t>() * gib : UINT64_MAX;
        tier.also = lower(entry.value("also", std::string()));
        tier.n_batch = entry.at("n_batch");
        tier.n_seqs = entry.value("n_seqs", std::uint64_t{1});
        tier.graph_batch = entry.value("graph_batch", std::uint64_t{0});
        tier.graph_batch_wide = entry.value("graph_batch_wide", tier.graph_batch);
    }
    if (tiers.empty() || tiers.back().below != UINT64_MAX) throw Error("runtimes.json: the tiers have no last one");
    return tiers;
}

ServingProfile::Reserved reserved_of(const json& entry) {
    ServingProfile::Reserved reserved;
    reserved.base = entry.at("base_mib");
    reserved.least_batch = entry.at("least_batch");
    reserved.per_batch_token = entry.at("per_batch_token_mib");
    reserved.per_graph = entry.at("per_graph_mib");
    reserved.per_device = entry.at("per_device_mib");
    reserved.large = entry.at("large_gib").get<std::uint64_t>() * gib;
    reserved.large_least = entry.at("large_least_mib");
    return reserved;
}

std::vector<CacheDtype> dtypes_of(const json& list) {
    std::vector<CacheDtype> dtypes;
    for (const json& entry : list)
        dtypes.push_back({entry.at("name"), entry.value("aliases", std::vector<std::string>()), entry.at("bytes")});
    if (dtypes.empty()) throw Error("runtimes.json: an engine without cache types");
    return dtypes;
}

ServingProfile read_profile(const json& entry) {
    using Budget = ServingProfile::Budget;
    using Parallel = ServingProfile::Parallel;
    static constexpr std::array<std::pair<std::string_view, Budget>, 3> budgets{
        {{"share", Budget::share}, {"static_share", Budget::static_share}, {"all", Budget::all}}};
    static constexpr std::array<std::pair<std::string_view, Parallel>, 3> parallels{
        {{"tensor", Parallel::tensor}, {"layers", Parallel::layers}, {"none", Parallel::none}}};
    ServingProfile p;
    p.budget = chosen(entry, "budget", budgets);
    p.parallel = chosen(entry, "parallel", parallels);
    p.share = entry.value("share", 0.0);
    p.most_share = entry.value("most_share", 0.0);
    p.margin = mebibytes(entry.at("margin_mib"));
    p.cache = cache_of(entry.at("cache"));
    p.tiers = tiers_of(entry.at("tiers"));
    if (entry.contains("reserved")) p.reserved = reserved_of(entry["reserved"]);
    const json& activations = entry.at("activations");
    p.logit_bytes = activations.value("logit_bytes", 0.0);
    p.weights_share = activations.value("weights_share", 0.0);
    p.activation_error = activations.at("error");
    p.weights_error = entry.at("weights").at("error");
    p.rope_table = entry.at("weights").at("rope_table");
    p.graphs = typical_at(entry, "graphs");
    p.non_torch = typical_at(entry, "non_torch");
    p.communicator = typical_at(entry, "communicator");
    p.own_context = entry.contains("non_torch");
    p.dtypes = dtypes_of(entry.at("dtypes").at("types"));
    p.formats = entry.at("weights").at("formats").get<std::vector<std::string>>();
    p.advised = entry.at("weights").at("advised").get<std::vector<std::string>>();
    p.gguf = entry.at("weights").at("gguf");
    p.format_flags = entry.at("weights").value("flags", decltype(p.format_flags)());
    p.messages = entry.at("messages").get<decltype(p.messages)>();
    p.notes = entry.value("notes", std::vector<std::string>());
    return p;
}

} // namespace

const ServingProfile::Tier& ServingProfile::tier(std::uint64_t total, std::string_view name) const {
    const std::string small = lower(name);
    const auto found = std::ranges::find_if(tiers, [&](const Tier& t) {
        return total < t.below || (!t.also.empty() && small.find(t.also) != std::string::npos);
    });
    return found == tiers.end() ? tiers.back() : *found;
}

double ServingProfile::static_share(std::uint64_t total, std::uint64_t n_devices) const {
    const Tier& t = tier(total);
    const std::uint64_t graphs_of = n_devices >= 4 ? t.graph_batch_wide : t.graph_batch;
    double kept = static_cast<double>(reserved.base) +
                  static_cast<double>(std::max(t.n_batch, reserved.least_batch)) * reserved.per_batch_token +
                  static_cast<double>(graphs_of) * reserved.per_graph +
                  static_cast<double>(n_devices) * reserved.per_device;
    if (total > reserved.large) kept = std::max(kept, static_cast<double>(reserved.large_least));
    const double all = static_cast<double>(total) / static_cast<double>(mib);
    constexpr double thousandths = 1000; // the runtime rounds to three digits
    return all <= kept ? 0 : std::round((all - kept) / all * thousandths) / thousandths;
}

const CacheDtype* ServingProfile::dtype(std::string_view name) const {
    const std::string key = normalize_name(name);
    const auto is_key = [&](const std::string& known) { return normalize_name(known) == key; };
    const auto found = std::ranges::find_if(
        dtypes, [&](const CacheDtype& d) { return is_key(d.name) || std::ranges::any_of(d.aliases, is_key); });
    return found == dtypes.end() ? nullptr : &*found;
}

std::string ServingProfile::message(std::string_view occasion,
                                    std::initializer_list<std::pair<std::string_view, std::string>> values) const {
    const auto found = messages.find(occasion);
    if (found == messages.end()) return "";
    std::string text = found->second;
    for (const auto& [name, value] : values) {
        const std::string hole = "{" + std::string(name) + "}";
        for (std::size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at + value.size()))
            text.replace(at, hole.size(), value);
    }
    return text;
}

ServingProfile parse_serving_profile(std::string_view text, std::string_view runtime) {
    try {
        return read_profile(json::parse(text));
    } catch (const json::exception& e) {
        throw Error("runtimes.json: the engine of " + quote(runtime) + ": " + e.what());
    }
}

} // namespace vramfit
