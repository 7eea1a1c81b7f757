#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "vramfit/model/catalog.hpp"

namespace vramfit::cli {
namespace {

bool is_wanted(const CatalogEntry& model, std::string_view filter) {
    std::vector<std::string_view> texts{model.id, model.family};
    texts.insert(texts.end(), model.aliases.begin(), model.aliases.end());
    return matches(filter, texts);
}

TableRow row_of(const CatalogEntry& model) {
    const std::string context = model.context_length == 0 ? "" : std::to_string(model.context_length);
    const std::string size = model.parameters == 0 ? "" : parameters_text(model.parameters);
    return {{model.id, size, context, model.architecture, model.license},
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

} // namespace

CommandResult models_command(Arguments arguments, const Terminal& terminal, const ModelSources&) {
    const ListingRequest request = read_listing_request(parse(arguments, models_options()));
    std::vector<TableRow> rows;
    Json list = Json::array();
    for (const CatalogEntry& model : catalog_entries()) {
        if (!is_wanted(model, request.filter)) continue;
        rows.push_back(row_of(model));
        list.push_back(json_of(model));
    }
    return listing_result("models", request,
                          {{"model"}, {"params", true}, {"context", true}, {"architecture"}, {"licence"}}, rows,
                          std::move(list), terminal);
}

} // namespace vramfit::cli
