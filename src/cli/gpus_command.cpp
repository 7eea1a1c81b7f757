#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

namespace vramfit::cli {
namespace {

bool is_wanted(const GpuInfo& gpu, std::string_view filter) {
    std::vector<std::string_view> texts{gpu.id, gpu.name, gpu.vendor};
    texts.insert(texts.end(), gpu.aliases.begin(), gpu.aliases.end());
    return matches(filter, texts);
}

/// The total is what the driver reports; of unified memory it is what the GPU may use.
TableRow row_of(const GpuInfo& gpu) {
    const std::optional<std::uint64_t> reported = gpu.metal_working_set ? gpu.metal_working_set : gpu.total;
    return {
        cells_of(gpu.id, value_or_nothing(gpu.nominal), value_or_nothing(reported), gpu.name, gpu.vendor, gpu.kind)};
}

Json bytes_or_null(const std::optional<std::uint64_t>& bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

Json json_of(const GpuInfo& gpu) {
    return {{"id", gpu.id},
            {"name", gpu.name},
            {"vendor", gpu.vendor},
            {"kind", gpu.kind},
            {"aliases", gpu.aliases},
            {"memory", bytes_or_null(gpu.nominal)},
            {"total", bytes_or_null(gpu.total)},
            {"working_set", bytes_or_null(gpu.metal_working_set)},
            {"devices", gpu.devices},
            {"unified", gpu.unified},
            {"release_year", gpu.release_year ? Json(*gpu.release_year) : Json(nullptr)},
            {"note", text_or_null(gpu.note)}};
}

/// A device of this machine as the catalog has it, or what is known of another one.
GpuInfo gpu_of(const Device& device) {
    for (GpuInfo& gpu : match_gpus(device.name)) {
        if (gpu.id == device.name) return std::move(gpu);
    }
    GpuInfo gpu;
    gpu.id = device.name;
    gpu.name = device.description;
    gpu.vendor = device.kind == Device::Kind::cuda    ? "nvidia"
                 : device.kind == Device::Kind::metal ? "apple"
                 : gpu.name.starts_with("Intel")      ? "intel"
                                                      : "amd";
    gpu.kind = device.unified ? "integrated" : "other";
    gpu.unified = device.unified;
    return gpu;
}

CommandResult gpus_of_this_machine(const ListingRequest& request, const Terminal& terminal) {
    const Detection& detection = detected_devices(true);
    Table table;
    table.columns = {
        {"id", "GPU"}, {"free", "free", Unit::mebibytes}, {"total", "total", Unit::mebibytes}, {"name", "name"}};
    Json list = Json::array();
    for (const Device& device : detection.devices) {
        table.rows.push_back({cells_of(device.name, value_or_nothing(device.free), device.total, device.description)});
        Json entry = json_of(gpu_of(device));
        entry["name"] = device.description;
        entry["total"] = device.total;
        entry["free"] = bytes_or_null(device.free);
        entry["devices"] = 1;
        list.push_back(std::move(entry));
    }
    CommandResult result = listing_result("gpus", request, table, std::move(list), terminal);
    if (request.output.format != Format::text) return result;
    // The first note is the table in words.
    for (std::size_t i = 1; i < detection.notes.size(); ++i) result.text += wrapped("note: ", detection.notes[i]);
    return result;
}

} // namespace

CommandResult gpus_command(Arguments arguments, const Terminal& terminal) {
    const ListingRequest request = read_listing_request(arguments);
    if (means_this_machine(request.filter)) return gpus_of_this_machine(request, terminal);
    Table table;
    table.columns = {{"id", "GPU"},
                     {"memory", "memory", Unit::gigabytes},
                     {"total", "total", Unit::mebibytes},
                     {"name", "name", Unit::none, true},
                     {"vendor", "vendor"},
                     {"kind", "kind"}};
    Json list = Json::array();
    for (const GpuInfo& gpu : all_gpus()) {
        if (!is_wanted(gpu, request.filter)) continue;
        table.rows.push_back(row_of(gpu));
        list.push_back(json_of(gpu));
    }
    return listing_result("gpus", request, table, std::move(list), terminal);
}

} // namespace vramfit::cli
