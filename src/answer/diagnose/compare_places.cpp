#include "compare_places.hpp"

#include "vramfit/base/bytes.hpp"

#include "vramfit/hardware/device.hpp"

#include <algorithm>

namespace vramfit {
namespace {

LoggedPlace& place_of(std::vector<LoggedPlace>& places, std::string_view name) {
    const auto found = std::ranges::find(places, name, &LoggedPlace::name);
    if (found != places.end()) return *found;
    places.push_back({std::string(name), {}});
    return places.back();
}

/// Devices with buffers: those of the list first, it has the order.
std::vector<std::string> devices_in_order(const Load& load) {
    std::vector<std::string> names;
    for (const LogDevice& device : load.devices) {
        if (load.on_device(device.name) > 0) names.push_back(device.name);
    }
    for (const LogBuffer& buffer : load.buffers) {
        const std::string name(device_of_buffer(buffer.device));
        if (!is_host_buffer(buffer.device) && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (names.size() > max_devices) names.resize(max_devices);
    return names;
}

std::vector<LoggedPlace> places_of_buffers(const Load& load) {
    constexpr std::uint64_t rounding = mib / 100; // two decimals of a MiB
    std::vector<LoggedPlace> places;
    for (const std::string& name : devices_in_order(load)) place_of(places, name);
    place_of(places, "host");
    for (const LogBuffer& buffer : load.buffers) {
        if (buffer.part != LoadPart::model) continue;
        const std::string_view name = is_host_buffer(buffer.device) ? "host" : device_of_buffer(buffer.device);
        const auto place = std::ranges::find(places, name, &LoggedPlace::name);
        if (place == places.end()) continue;
        LoggedPart& part = place->parts[buffer.kind];
        part.bytes += buffer.bytes;
        part.rounding += rounding;
        if (part.line == 0) part.line = buffer.line;
    }
    return places;
}

std::vector<LoggedPlace> places_of_table(const Load& load) {
    std::vector<LoggedPlace> places;
    LoggedPlace host{"host", {}};
    for (const LogTableRow& row : load.table) {
        LoggedPlace place{row.device, {}};
        place.parts[BufferKind::weights] = {row.weights, row.line, mib, false};
        if (row.context > 0) place.parts[BufferKind::kv_cache] = {row.context, row.line, mib, true};
        if (row.compute > 0) place.parts[BufferKind::compute] = {row.compute, row.line, mib, false};
        if (row.device == "Host")
            host.parts = std::move(place.parts);
        else if (places.size() < max_devices)
            places.push_back(std::move(place));
    }
    places.push_back(std::move(host));
    return places;
}

} // namespace

std::string_view name_of(BufferKind kind) {
    switch (kind) {
    case BufferKind::weights: return "weights";
    case BufferKind::kv_cache: return "kv_cache";
    case BufferKind::recurrent_state: return "recurrent_state";
    case BufferKind::compute: return "compute";
    case BufferKind::output: break;
    }
    return "output";
}

std::uint64_t part_of(const HostMemory& memory, BufferKind kind) {
    switch (kind) {
    case BufferKind::weights: return memory.weights;
    case BufferKind::kv_cache: return memory.kv_cache;
    case BufferKind::recurrent_state: return memory.recurrent_state;
    case BufferKind::compute: return memory.compute;
    case BufferKind::output: break;
    }
    return memory.output;
}

std::optional<LoggedPart> LoggedPlace::part(BufferKind kind) const {
    const auto found = parts.find(kind);
    return found == parts.end() ? std::nullopt : std::optional(found->second);
}

std::vector<LoggedPlace> logged_places(const Load& load) {
    return load.has_buffers() ? places_of_buffers(load) : places_of_table(load);
}

} // namespace vramfit
