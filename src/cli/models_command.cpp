#include "cli/listing.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/file_stores.hpp"
#include "vramfit/model/user_catalog.hpp"

namespace vramfit::cli {
namespace {

bool is_wanted(const CatalogEntry& model, std::string_view filter) {
    std::vector<std::string_view> texts{model.id, model.family};
    texts.insert(texts.end(), model.aliases.begin(), model.aliases.end());
    return matches(filter, texts);
}

TableRow row_of(const CatalogEntry& model) {
    return {cells_of(model.id, number_or_nothing(model.parameters), number_or_nothing(model.active_parameters),
                     number_or_nothing(model.context_length), text_or_nothing(model.architecture),
                     text_or_nothing(model.family), text_or_nothing(model.released), text_or_nothing(model.unsupported),
                     text_or_nothing(model.license)),
            model.unsupported.empty() ? "" : "not supported: " + model.unsupported};
}

Json json_of(const CatalogEntry& model) {
    return {{"id", model.id},
            {"family", model.family},
            {"aliases", model.aliases},
            {"architecture", text_or_null(model.architecture)},
            {"parameters", number_or_null(model.parameters)},
            {"active_parameters", number_or_null(model.active_parameters)},
            {"context_length", number_or_null(model.context_length)},
            {"moe", model.moe},
            {"license", text_or_null(model.license)},
            {"released", text_or_null(model.released)},
            {"unsupported", text_or_null(model.unsupported)}};
}

CommandResult installed(const ListingRequest& request, const Terminal& terminal, const Environment& environment) {
    Table table;
    table.columns = {
        {"store", "store"}, {"bytes", "size", Unit::bytes}, {"title", "model"}, {"model", "path", Unit::none, true}};
    Json list = Json::array();
    for (const InstalledModel& model : installed_models(environment)) {
        if (!matches(request.filter, {model.title, model.store, model.model})) continue;
        const bool by_path = model.store != "ollama";
        table.rows.push_back(
            {cells_of(model.store, number_or_nothing(model.bytes), by_path ? model.title : model.model, model.model),
             by_path ? model.model : ""});
        list.push_back({{"store", model.store},
                        {"title", model.title},
                        {"model", model.model},
                        {"bytes", number_or_null(model.bytes)}});
    }
    CommandResult result = listing_result("installed", request, table, std::move(list), terminal);
    if (result.exit_code == exit_bad)
        result.remark = request.filter.empty() ? "no model of Ollama, LM Studio, llama.cpp or Hugging Face is installed"
                                               : "no installed model matches " + quote(request.filter);
    return result;
}

} // namespace

CommandResult models_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources) {
    const ParsedArguments parsed = parse(arguments, models_options());
    const ListingRequest request = read_listing_request(parsed);
    if (parsed.has("--installed")) return installed(request, terminal, sources.environment);
    ModelSources all = sources;
    const auto& catalogs = parsed.values("--catalog");
    all.catalogs.insert(all.catalogs.begin(), catalogs.begin(), catalogs.end());
    Table table;
    table.columns = {{"id", "model"},
                     {"parameters", "params", Unit::parameters},
                     {"active_parameters", "active", Unit::parameters, true},
                     {"context_length", "context", Unit::count},
                     {"architecture", "architecture"},
                     {"family", "family", Unit::none, true},
                     {"released", "released", Unit::none, true},
                     {"unsupported", "not supported", Unit::none, true},
                     {"license", "licence"}};
    Json list = Json::array();
    for (const CatalogEntry& model : catalog_entries(all)) {
        if (!is_wanted(model, request.filter)) continue;
        table.rows.push_back(row_of(model));
        list.push_back(json_of(model));
    }
    return listing_result("models", request, table, std::move(list), terminal);
}

} // namespace vramfit::cli
