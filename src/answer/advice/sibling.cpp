#include "advisor.hpp"

#include "answer/command.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/model/catalog.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

namespace vramfit {
namespace {

/// "32b", "8x7b", "0.6b", "270m", "1t": a part of a name that tells the size.
bool is_size(std::string_view part) {
    if (part.size() < 2 || std::string_view("bmt").find(part.back()) == std::string_view::npos) return false;
    part.remove_suffix(1);
    return part.find_first_not_of("0123456789.x") == std::string_view::npos;
}

/// The name up to its size: "qwen2.5-coder" of "qwen2.5-coder-32b".
std::string_view line_of(std::string_view id) {
    for (std::size_t at = id.find('-'); at != std::string_view::npos; at = id.find('-', at + 1)) {
        const std::string_view rest = id.substr(at + 1);
        if (is_size(rest.substr(0, rest.find_first_of("-+")))) return id.substr(0, at);
    }
    return id;
}

/// "+mtp", or nothing.
std::string_view variant_of(std::string_view id) { return id.substr(std::min(id.find('+'), id.size())); }

/// Months of a date YYYY-MM or YYYY-MM-DD; 0 where there is none.
int months_of(std::string_view date) {
    int year = 0;
    int month = 0;
    if (date.size() < 7) return 0;
    std::from_chars(date.data(), date.data() + 4, year);
    std::from_chars(date.data() + 5, date.data() + 7, month);
    return 12 * year + month;
}

/// Of the same line; or out within a year of it, an older one being a step back in more than size, and no other kind of
/// model altogether.
bool is_kin(const CatalogEntry& model, const CatalogEntry& other) {
    if (line_of(model.id) == line_of(other.id)) return true;
    constexpr std::uint64_t most_times_smaller = 16;
    if (other.parameters < model.parameters / most_times_smaller) return false;
    return months_of(other.released) > 0 && months_of(other.released) + 12 >= months_of(model.released) &&
           months_of(model.released) > 0;
}

/// The smaller models of its family that read as long a text: of its own line first, then the largest, then the newest.
std::vector<CatalogEntry> smaller_siblings(const Advisor& advisor) {
    const auto models = embedded::models();
    const auto own = std::ranges::find(models, advisor.model().id, &embedded::Entry::id);
    if (own == models.end()) return {};
    const CatalogEntry model = find_catalog_entry(own->id);
    const std::uint64_t n_ctx = std::min(advisor.base().estimate.context.n_ctx_seq, model.context_length);
    std::vector<CatalogEntry> siblings;
    for (const embedded::Entry& entry : models) {
        if (entry.group != own->group || variant_of(entry.id) != variant_of(own->id)) continue;
        CatalogEntry sibling = find_catalog_entry(entry.id);
        const bool smaller = sibling.parameters > 0 && sibling.parameters < model.parameters;
        if (smaller && sibling.unsupported.empty() && sibling.context_length >= n_ctx && is_kin(model, sibling))
            siblings.push_back(std::move(sibling));
    }
    std::ranges::stable_sort(siblings, std::ranges::greater{}, [&](const CatalogEntry& sibling) {
        return std::tuple(line_of(sibling.id) == line_of(model.id), sibling.parameters, sibling.released);
    });
    return siblings;
}

/// Do its weights alone, as large a share as its parameters are, fill the devices?
bool is_hopeless(const Advisor& advisor, std::uint64_t parameters) {
    double available = 0;
    for (const DeviceAnswer& device : advisor.base().devices) available += static_cast<double>(device.available);
    const double share = static_cast<double>(parameters) / static_cast<double>(advisor.model().n_parameters());
    return share * static_cast<double>(advisor.base().estimate.tensor_bytes) > available;
}

Change sibling_change(const Advisor& advisor, const std::string& id) {
    const FileType type = advisor.base().deployment.file_type;
    Change change;
    change.kind = "model";
    change.summary = "the smaller " + id + " of the same family";
    change.set = {{"model", id}};
    change.request = advisor.request();
    change.request.model = id;
    change.request.said_model.reset();
    change.file = advisor.runtime().takes_files ? id + "-" + std::string(traits(type).name) + ".gguf"
                                                : model_file(advisor.runtime(), type);
    if (advisor.runtime().can_set("model")) change.write(advisor.runtime(), "model", change.file);
    return change;
}

} // namespace

void advise_sibling(Advisor& advisor) {
    const Request& request = advisor.request();
    if (advisor.model().source != "catalog" || advisor.base().verdict == Verdict::refused) return;
    // What was chosen for this model would not suit another.
    if (request.projector || request.draft || !request.adapters.empty() || !request.override_tensors.empty()) return;
    for (const CatalogEntry& sibling : smaller_siblings(advisor)) {
        if (is_hopeless(advisor, sibling.parameters)) continue;
        const Change change = sibling_change(advisor, sibling.id);
        Estimator estimator(catalog_model(sibling.id));
        if (estimator.quant_refusal(advisor.base().deployment.file_type, request.imatrix)) continue;
        Judge judge(change.request, estimator);
        const Trial trial = judge.attempt(change.request);
        if (trial.verdict != Verdict::fit || advisor.leaves_device(trial)) continue;
        advisor.keep(change, trial, judge);
        return;
    }
}

} // namespace vramfit
