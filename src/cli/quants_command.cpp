#include "cli/listing.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weight_format.hpp"
#include "vramfit/model/weights.hpp"

#include <algorithm>
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

/// The runtimes that read weights of that format: "vllm, sglang".
std::string readers_of(const WeightFormat& format, const std::vector<RuntimeProfile>& profiles) {
    std::string names;
    for (const RuntimeProfile& profile : profiles) {
        if (!profile.serving) continue;
        const std::vector<std::string>& formats = profile.serving->formats;
        if (std::find(formats.begin(), formats.end(), format.id) != formats.end())
            names += (names.empty() ? "" : ", ") + profile.id;
    }
    return names;
}

double bits_per_weight(const Model& model, const WeightFormat& format) {
    const auto bits = 8.0 * static_cast<double>(checkpoint_bytes(model, format, false));
    return std::round(bits / static_cast<double>(model.n_parameters()) * 100) / 100;
}

TableRow row_of(const WeightFormat& format, double bits, const std::string& readers) {
    return {cells_of(format.id, std::monostate{}, bits, format.description), readers.empty() ? "" : "of " + readers};
}

Json json_of(const WeightFormat& format, double bits) {
    return {{"name", format.id},
            {"number", nullptr},
            {"bits_per_weight", bits},
            {"needs_imatrix", false},
            {"description", format.description}};
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
    const std::vector<RuntimeProfile> profiles = runtimes();
    const Model experts = catalog_model(typical_experts);
    for (const WeightFormat& format : weight_formats()) {
        if (!matches(request.filter, {format.id})) continue;
        const double bits = bits_per_weight(format.scope == WeightFormat::Scope::experts ? experts : dense, format);
        table.rows.push_back(row_of(format, bits, readers_of(format, profiles)));
        list.push_back(json_of(format, bits));
    }
    return listing_result("quants", request, table, std::move(list), terminal);
}

} // namespace vramfit::cli
