#include "cli/listing.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weights.hpp"

#include <cmath>
#include <optional>

namespace vramfit::cli {
namespace {

// Bits per weight differ a little from model to model: these stand for a typical one.
constexpr std::string_view typical_model = "llama3.1-8b";
constexpr std::string_view typical_experts = "gpt-oss-20b"; // a file type for mixtures of experts shows only there

double bits_per_weight(const Model& model, FileType type) {
    const QuantMix mix = quant_mix(model, model.architecture->name, type, true);
    const auto bits = 8.0 * static_cast<double>(file_tensor_bytes(model, mix.types));
    return std::round(bits / static_cast<double>(model.n_parameters()) * 100) / 100;
}

double typical_bits(const Model& dense, FileType type) {
    return type == FileType::mxfp4_moe ? bits_per_weight(catalog_model(typical_experts), type)
                                       : bits_per_weight(dense, type);
}

TableRow row_of(const FileTypeTraits& type, double bits) {
    return {cells_of(std::string(type.name), std::uint64_t{type.number}, bits, std::string(type.description))};
}

Json json_of(const FileTypeTraits& type, double bits) {
    return {{"name", type.name},
            {"number", type.number},
            {"bits_per_weight", bits},
            {"needs_imatrix", type.needs_imatrix},
            {"description", type.description}};
}

} // namespace

CommandResult quants_command(Arguments arguments, const Terminal& terminal) {
    const ListingRequest request = read_listing_request(arguments);
    const Model dense = catalog_model(typical_model);
    Table table;
    table.columns = {{"name", "type"},
                     {"number", "number", Unit::count, true},
                     {"bits_per_weight", "bits", Unit::bits},
                     {"description", "(per weight, of a typical model)"}};
    Json list = Json::array();
    for (const FileTypeTraits& type : file_types) {
        if (!matches(request.filter, {type.name})) continue;
        const double bits = typical_bits(dense, type.type);
        table.rows.push_back(row_of(type, bits));
        list.push_back(json_of(type, bits));
    }
    return listing_result("quants", request, table, std::move(list), terminal);
}

} // namespace vramfit::cli
