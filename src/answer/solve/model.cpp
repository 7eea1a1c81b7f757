#include "sweep.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/user_catalog.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace vramfit {
namespace {

// A device's share of what a smaller file saves varies a little with the mix.
constexpr double saving_slack = 1.1;

constexpr double few_bits = 3; // per weight

/// A model that fits, in the quantization that does.
struct Fitting {
    CatalogEntry entry;
    Quant quant;
    std::uint64_t parameters = 0;
    double bits = 0;
    Trial trial;
};

bool holds(const std::string& text, const std::string& part) {
    return lower(text).find(lower(part)) != std::string::npos;
}

/// A model of the catalog that llama.cpp loads. A variant with its MTP block ("+mtp") is the same model once more.
bool is_wanted(const CatalogEntry& entry, const Request& request) {
    const ModelFilter& filter = request.models;
    const bool large = entry.parameters == 0 || entry.parameters >= filter.min_parameters;
    const bool long_enough = entry.context_length == 0 || entry.context_length >= request.n_ctx.value_or(0);
    const bool mtp_variant = entry.id.ends_with("+mtp");
    return entry.unsupported.empty() && mtp_variant == request.mtp && large && long_enough &&
           (entry.moe || !filter.moe) && holds(entry.family, filter.family) && holds(entry.license, filter.license);
}

/// Could this quantization save what `trial`, with one of `before` bytes, misses?
bool may_save(const Trial& trial, std::uint64_t before, std::uint64_t bytes, Verdict goal) {
    return static_cast<double>(trial.spare(goal)) + saving_slack * static_cast<double>(before - bytes) >= 0;
}

/// The largest quantization that fits, else the largest that fits tightly, if that is wanted.
std::optional<Fitting> best_fit(const CatalogEntry& entry, Judge& judge, const Request& request, std::string& refusal) {
    std::optional<Fitting> best;
    std::optional<std::pair<std::uint64_t, Trial>> last;
    for (const Quant& quant : quants_of(judge.estimator(), request)) {
        const Verdict goal = best || request.strict ? Verdict::fit : Verdict::tight;
        if (last && !may_save(last->second, last->first, quant.tensor_bytes, goal)) continue;
        Request tried = request;
        tried.quant = quant.name;
        Trial trial = judge.attempt(tried);
        if (trial.verdict == Verdict::refused) { // by its settings, which are the same for all
            refusal = trial.estimate.refusal.value_or("");
            break;
        }
        if (trial.verdict <= goal) {
            const double bits = bits_per_weight(judge.model(), quant.tensor_bytes);
            best = Fitting{entry, quant, judge.model().n_parameters(), bits, trial};
        }
        if (trial.verdict == Verdict::fit) break;
        last.emplace(quant.tensor_bytes, std::move(trial));
    }
    return best;
}

bool comes_before(const Fitting& a, const Fitting& b, ModelOrder order) {
    const auto key = [&](const Fitting& f) -> std::int64_t { // largest first
        switch (order) {
        case ModelOrder::parameters: return static_cast<std::int64_t>(f.parameters);
        case ModelOrder::headroom: return least_headroom(f.trial);
        case ModelOrder::context: return static_cast<std::int64_t>(f.entry.context_length);
        case ModelOrder::name: break;
        }
        return 0;
    };
    return std::tuple(-key(a), std::string_view(a.entry.id)) < std::tuple(-key(b), std::string_view(b.entry.id));
}

TableRow row_of(const Fitting& f) {
    return {cells_of(f.entry.id, f.parameters, number_or_nothing(f.entry.active_parameters), f.quant.name, f.bits,
                     f.quant.tensor_bytes, required_bytes(f.trial), least_headroom(f.trial), f.trial.verdict,
                     number_or_nothing(f.entry.context_length), text_or_nothing(f.entry.family),
                     text_or_nothing(f.entry.license))};
}

std::vector<TableColumn> columns(const Request& request) {
    // Where contexts differ from model to model, and where they order the rows, they are shown.
    const bool shows_context = request.n_ctx == std::uint64_t{0} || request.models.order == ModelOrder::context;
    return {{"model", "model"},
            {"parameters", "params", Unit::parameters},
            {"active_parameters", "active", Unit::parameters, true},
            {"quant", "quant"},
            {"bits_per_weight", "bits", Unit::bits, true},
            {"tensor_bytes", "size", Unit::bytes, true},
            {"required", "required", Unit::bytes},
            {"headroom", "headroom", Unit::bytes},
            {"verdict", "verdict", Unit::verdict},
            {"context_length", "context", Unit::count, !shows_context},
            {"family", "family", Unit::none, true},
            {"license", "licence", Unit::none, true}};
}

/// What the search found, and what it could not try.
struct Found {
    std::vector<Fitting> models;
    std::size_t n_tried = 0;
    std::size_t n_impossible = 0;
    std::string refusal;        ///< by the runtime, of the last one that it refuses
    std::string why_impossible; ///< of the last one
};

void try_model(const CatalogEntry& entry, const Request& request, const ModelSources& sources, Found& found) {
    Estimator estimator(catalog_model(entry.id, sources));
    if (estimator.model().n_parameters() < request.models.min_parameters) return;
    ++found.n_tried;
    Judge judge(request, estimator);
    try {
        if (auto fitting = best_fit(entry, judge, request, found.refusal)) found.models.push_back(std::move(*fitting));
    } catch (const Error& error) { // settings or a file type that this model cannot have
        ++found.n_impossible;
        found.why_impossible = error.what();
    }
}

std::string legend_of(const Found& found, std::size_t n_devices) {
    if (!found.models.empty())
        return n_devices == 1 ? "" : "required: on all GPUs together; headroom: on the fullest one";
    return found.n_tried == 0 ? "no model of the catalog is like that" : "no model of the catalog fits";
}

/// Throws Error for a family or a licence that no model of the catalogs has.
void check_filter(const std::vector<CatalogEntry>& entries, const ModelFilter& filter) {
    const auto check = [&](const char* option, const std::string& wanted, std::string CatalogEntry::*field) {
        std::set<std::string_view> known;
        for (const CatalogEntry& entry : entries) {
            if (holds(entry.*field, wanted)) return;
            known.insert(entry.*field);
        }
        const std::vector<std::string_view> names(known.begin(), known.end());
        throw Error(std::string(option) + ": no model of the catalog has " + quote(wanted) +
                    did_you_mean(wanted, names));
    };
    check("--family", filter.family, &CatalogEntry::family);
    check("--license", filter.license, &CatalogEntry::license);
}

} // namespace

Table models_that_fit(const Request& request, const ModelSources& sources) {
    if (request.gpus.empty() || !request.n_ctx)
        throw Error("to look for models, give a GPU and a context, such as 24GB and 8192");
    Table table;
    table.kind = "model";
    table.subject = subject_of(request);
    ModelSources all = sources;
    all.catalogs.insert(all.catalogs.begin(), request.catalogs.begin(), request.catalogs.end());
    Found found;
    const std::vector<CatalogEntry> entries = catalog_entries(all);
    check_filter(entries, request.models);
    for (const CatalogEntry& entry : entries) {
        if (is_wanted(entry, request)) try_model(entry, request, all, found);
    }
    if (found.n_tried > 0 && found.n_impossible == found.n_tried) throw Error(found.why_impossible);
    std::ranges::sort(found.models,
                      [&](const Fitting& a, const Fitting& b) { return comes_before(a, b, request.models.order); });
    table.columns = columns(request);
    table.rows.reserve(found.models.size());
    for (const Fitting& fitting : found.models) table.rows.push_back(row_of(fitting));
    table.legend = legend_of(found, table.subject->devices.size());
    if (std::ranges::any_of(found.models, [](const Fitting& f) { return f.bits < few_bits; }))
        table.notes.emplace_back("quantizations of less than 3 bits lose a lot; --quant q4_k_m looks for models that "
                                 "fit with more");
    if (!found.refusal.empty())
        table.notes.push_back(table.subject->runtime + " refuses these settings" +
                              (found.models.empty() ? ": " : " with some models: ") + found.refusal);
    if (found.n_impossible > 0)
        table.notes.push_back(std::to_string(found.n_impossible) +
                              " models cannot be run like that and are left out, one of them because " +
                              found.why_impossible);
    return table;
}

} // namespace vramfit
