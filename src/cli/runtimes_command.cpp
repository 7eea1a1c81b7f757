#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "cli/text_table.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/memory/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit::cli {
namespace {

constexpr std::size_t rule_width = 11; // of the names of rules
constexpr std::size_t indent = 2;

std::string number(std::uint64_t n) { return std::to_string(n); }

const char* name_of(RuntimeProfile::Reserve reserve) {
    switch (reserve) {
    case RuntimeProfile::Reserve::growing: return "growing";
    case RuntimeProfile::Reserve::share: return "share";
    case RuntimeProfile::Reserve::load: break;
    }
    return "load";
}

const char* name_of(FlashAttention mode) {
    switch (mode) {
    case FlashAttention::off: return "off";
    case FlashAttention::on: return "on";
    case FlashAttention::automatic: break;
    }
    return "auto";
}

/// "262144/32768/4096", "8192", "trained".
std::string short_context(const RuntimeProfile& p) {
    std::string text;
    for (const auto& tier : p.default_ctx) text += (text.empty() ? "" : "/") + number(tier.n_ctx);
    return text.empty() ? (p.fits_ctx ? "what fits" : "trained") : text;
}

std::string context_rule(const RuntimeProfile& p) {
    std::string text;
    for (const auto& tier : p.default_ctx) {
        text += (text.empty() ? "" : ", ") + number(tier.n_ctx);
        if (tier.memory > 0) text += " from " + format_bytes(tier.memory);
    }
    if (p.default_ctx.size() > 1) text += " below (memory of all GPUs together)";
    if (text.empty()) text = "what the model was trained for";
    if (p.fits_ctx) text += ", made smaller until it fits";
    if (p.caps_ctx) text += "; at most what the model was trained for";
    if (p.ctx_per_slot) text += "; each slot has it for itself";
    if (p.ctx_extra > 0) text += "; " + number(p.ctx_extra) + " cells are added";
    return text;
}

std::string slots_rule(const RuntimeProfile& p) {
    std::string text = number(p.slots);
    if (p.slots > 1) text += p.unified ? " that share one cache" : " that divide the context";
    if (!p.single_slot.empty()) text += "; always one with " + enumerated(p.single_slot, "and");
    return text;
}

std::string batch_rule(const RuntimeProfile& p) {
    std::string text = number(p.n_batch);
    if (p.n_ubatch != p.n_batch) text += ", physical " + number(p.n_ubatch);
    if (!p.auto_batch) return text;
    for (const AutoBatch::Step& step : p.auto_batch->steps)
        text += "; " + number(step.n_batch) + " above a context of " + number(step.above_ctx) +
                " where the predicted need is at most " + number(step.most_percent) + " % of the free memory";
    return text;
}

std::string cache_rule(const RuntimeProfile& p) {
    std::vector<std::string_view> names;
    for (const TensorType type : p.cache_types) names.push_back(traits(type).name);
    return enumerated(names, "and");
}

std::string attention_rule(const RuntimeProfile& p) {
    return std::string("flash attention ") + name_of(p.flash_attn) + ", sliding windows " +
           (p.swa_full ? "with the whole context" : "with their window");
}

std::string reserve_rule(const RuntimeProfile& p) {
    switch (p.reserve) {
    case RuntimeProfile::Reserve::growing: return "more with every token";
    case RuntimeProfile::Reserve::share: return "a share of the card, whatever the model";
    case RuntimeProfile::Reserve::load: break;
    }
    return "all of it as the model loads";
}

using Rules = std::vector<std::array<std::string, 3>>;

std::string share_rule(const ServingProfile& engine) {
    switch (engine.budget) {
    case ServingProfile::Budget::share: return fmt::format("{:g} of the card, for everything", engine.share);
    case ServingProfile::Budget::static_share:
        return "of what is free at the start, for weights and cache: by the size of the card";
    case ServingProfile::Budget::all: break;
    }
    return "";
}

std::string tokens_rule(const CacheRules& cache) {
    switch (cache.rule) {
    case CacheRule::paged: return "blocks of " + number(cache.block) + " tokens";
    case CacheRule::token_pool: return "a pool of single tokens";
    case CacheRule::growing: break;
    }
    return "grows in steps of " + number(cache.block) + (cache.block == 1 ? " token" : " tokens");
}

std::string typical_rule(const TypicalBytes& part) {
    return format_mib(part.value) + ", " + format_mib(part.low) + " to " + format_mib(part.high) + " seen";
}

void add_engine_rules(Rules& rules, const ServingProfile& engine) {
    const auto add = [&](const char* name, const std::string& rule, const char* part) {
        if (!rule.empty()) rules.push_back({name, rule, part});
    };
    add("share", share_rule(engine), "share");
    add("cache", tokens_rule(engine.cache), "cache");
    if (engine.graphs.high > 0) add("graphs", typical_rule(engine.graphs), "graphs");
    if (engine.non_torch.high > 0) add("process", typical_rule(engine.non_torch), "non_torch");
    if (engine.communicator.high > 0)
        add("several", typical_rule(engine.communicator) + ", with several GPUs", "communicator");
}

/// Rules as a person reads them: name, sentence, and the part of the entry whose source it has.
Rules rules_of(const RuntimeProfile& p) {
    Rules rules{{"context", context_rule(p), "context"},
                {"memory", reserve_rule(p), "context"},
                {"slots", slots_rule(p), "slots"},
                {"batch", batch_rule(p), "batch"}};
    if (!p.cache_types.empty()) rules.push_back({"KV types", cache_rule(p), "cache_types"});
    if (p.serving) {
        std::vector<std::string> dtypes;
        for (const CacheDtype& dtype : p.serving->dtypes) dtypes.push_back(dtype.name);
        rules.push_back({"KV types", enumerated(dtypes, "and"), "dtypes"});
        rules.push_back({"weights", enumerated(p.serving->formats, "and"), "weights"});
        add_engine_rules(rules, *p.serving);
        return rules;
    }
    rules.push_back({"attention", attention_rule(p), "attention"});
    if (p.one_gpu_percent > 0)
        rules.push_back({"placement",
                         "one GPU where the predicted need is at most " + number(p.one_gpu_percent) + " % of it",
                         "placement"});
    if (!p.without_gpu_layers.empty()) rules.push_back({"too large", p.without_gpu_layers, "without_gpu_layers"});
    return rules;
}

/// The settings that it has, in its own words, "N" for the value.
std::vector<std::pair<std::string, std::string>> settings_of(const RuntimeProfile& p) {
    std::vector<std::pair<std::string, std::string>> settings;
    for (const auto* texts : {&p.flags, &p.environment, &p.elsewhere}) {
        for (const auto& [setting, text] : *texts) {
            std::string words = texts == &p.environment ? text + "=" : text;
            if (const auto at = words.find(" {value}"); at != std::string::npos) words.resize(at);
            settings.emplace_back(setting, words.empty() ? "(by its place)" : words);
        }
    }
    return settings;
}

std::string profile_text(const RuntimeProfile& p, const Terminal& terminal) {
    const std::string title = p.name == p.id ? p.id : p.name + " (" + p.id + ")";
    std::string text = edges(terminal.paint(Color::bold, title), "rules of " + p.version) + "\n";
    std::string last;
    for (const auto& [name, rule, part] : rules_of(p)) {
        text += wrapped(std::string(indent, ' ') + pad_right(name, rule_width), rule);
        const auto source = p.sources.find(part);
        if (source != p.sources.end() && part != last)
            text += wrapped(std::string(indent + rule_width, ' ') + "from ", source->second);
        last = part;
    }
    std::vector<TextRow> rows;
    for (auto& [setting, words] : settings_of(p)) rows.push_back({{"  " + setting, std::move(words)}});
    if (rows.empty()) return text;
    text += "\n" +
            text_table({{"  setting"}, {p.environment.empty() ? "flag" : "variable, or where else"}}, rows, terminal);
    for (const auto& [kind, hint] : p.hints)
        if (kind == "environment" || kind == "elsewhere") text += wrapped("  note: ", hint);
    return text;
}

Json json_of(const RuntimeProfile& p) {
    Json tiers = Json::array();
    for (const auto& tier : p.default_ctx) tiers.push_back({{"memory", tier.memory}, {"n_ctx", tier.n_ctx}});
    Json types = Json::array();
    for (const TensorType type : p.cache_types) types.push_back(traits(type).name);
    Json settings = Json::object();
    for (auto& [setting, words] : settings_of(p)) settings[setting] = words;
    return {{"id", p.id},
            {"name", p.name},
            {"aliases", p.aliases},
            {"version", p.version},
            {"program", p.program},
            {"default_context", p.default_ctx.empty() ? Json(nullptr) : tiers},
            {"context_is_fitted", p.fits_ctx},
            {"context_per_slot", p.ctx_per_slot},
            {"parallel", p.slots},
            {"kv_unified", p.unified},
            {"n_batch", p.n_batch},
            {"n_ubatch", p.n_ubatch},
            {"cache_types", std::move(types)},
            {"flash_attn", name_of(p.flash_attn)},
            {"reserved", name_of(p.reserve)},
            {"settings", std::move(settings)},
            {"sources", p.sources}};
}

bool is_named(const RuntimeProfile& p, std::string_view name) {
    return name == p.id || std::ranges::find(p.aliases, name) != p.aliases.end();
}

bool is_wanted(const RuntimeProfile& p, std::string_view filter) {
    std::vector<std::string_view> names{p.id, p.name, p.program};
    names.insert(names.end(), p.aliases.begin(), p.aliases.end());
    return matches(filter, names);
}

TableRow row_of(const RuntimeProfile& p) {
    return {cells_of(p.id, short_context(p), p.slots, std::string(name_of(p.reserve)), p.program)};
}

} // namespace

CommandResult runtimes_command(Arguments arguments, const Terminal& terminal) {
    const ListingRequest request = read_listing_request(arguments);
    const std::vector<RuntimeProfile> all = runtimes();
    const auto named = std::ranges::find_if(all, [&](const RuntimeProfile& p) { return is_named(p, request.filter); });
    if (named != all.end() && request.output.format == Format::text)
        return {profile_text(*named, terminal.with(request.output.color))};
    Table table;
    table.columns = {{"id", "runtime"},
                     {"default_context", "context"},
                     {"parallel", "slots", Unit::count},
                     {"reserved", "reserves"},
                     {"program", "program"}};
    Json list = Json::array();
    for (const RuntimeProfile& p : all) {
        if (named != all.end() ? &p != &*named : !is_wanted(p, request.filter)) continue;
        table.rows.push_back(row_of(p));
        list.push_back(json_of(p));
    }
    return listing_result("runtimes", request, table, std::move(list), terminal);
}

} // namespace vramfit::cli
