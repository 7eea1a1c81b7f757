#include "vramfit/hardware/overhead.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <vector>

namespace vramfit {
namespace {

using nlohmann::json;

/// A typical value with the range that was seen.
struct Typical {
    std::uint64_t value = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

struct DriverShare {
    std::uint64_t up_to = std::numeric_limits<std::uint64_t>::max(); ///< for totals up to this
    Typical share;
};

struct WorkingSet {
    std::uint64_t below = std::numeric_limits<std::uint64_t>::max(); ///< for less memory than this
    std::uint64_t numerator = 1;
    std::uint64_t denominator = 1;
};

/// data/overheads.json, both lists in the order in which they are tried.
struct Constants {
    std::vector<DriverShare> driver_shares;
    Typical context;
    Typical metal_context;
    std::vector<WorkingSet> working_sets;
};

Typical read_typical(const json& entry, const std::string& prefix = "") {
    const auto at = [&](const char* key) { return entry.at(prefix + key).get<std::uint64_t>() * mib; };
    return {at("typical_mib"), at("low_mib"), at("high_mib")};
}

Constants read_constants() {
    const json data = json::parse(embedded::file("overheads.json").value());
    Constants constants;
    for (const json& entry : data.at("driver_share")) {
        DriverShare& rule = constants.driver_shares.emplace_back();
        rule.share = read_typical(entry);
        if (entry.contains("up_to_gib")) {
            rule.up_to = entry["up_to_gib"].get<std::uint64_t>() * gib;
        }
    }
    const json& metal = data.at("metal");
    for (const json& entry : metal.at("working_set")) {
        WorkingSet& rule = constants.working_sets.emplace_back();
        rule.numerator = entry.at("numerator");
        rule.denominator = entry.at("denominator");
        if (entry.contains("below_gib")) {
            rule.below = entry["below_gib"].get<std::uint64_t>() * gib;
        }
    }
    constants.context = read_typical(data.at("process_context"));
    constants.metal_context = read_typical(metal, "context_");
    return constants;
}

const Constants& constants() {
    static const Constants read = read_constants();
    return read;
}

Typical typical_driver_share(std::uint64_t total) {
    for (const DriverShare& rule : constants().driver_shares) {
        if (total <= rule.up_to) {
            return rule.share;
        }
    }
    return {};
}

/// What the driver keeps of the total. Free memory is counted without it, and Metal's working set is already what
/// macOS leaves.
Typical driver_share(const Device& device) {
    if (device.free || device.kind == Device::Kind::metal) {
        return {};
    }
    if (device.driver_share) {
        return {*device.driver_share, *device.driver_share, *device.driver_share};
    }
    return typical_driver_share(device.total);
}

std::string text_of(const std::string& name, const Typical& part) {
    std::string text = name + " " + format_mib(part.value);
    if (part.low == part.high) {
        return text + " (measured)";
    }
    return text + " (typical, " + std::to_string(part.low / mib) + " to " + std::to_string(part.high / mib) + " seen)";
}

} // namespace

Overhead overhead_of(const Device& device) {
    const Typical driver = driver_share(device);
    const Typical context = device.kind == Device::Kind::metal ? constants().metal_context : constants().context;
    Overhead overhead;
    overhead.driver = driver.value;
    overhead.context = context.value;
    overhead.low = driver.low + context.low;
    overhead.high = driver.high + context.high;
    overhead.basis_text = (driver.high > 0 ? text_of("driver", driver) + ", " : "") + text_of("context", context);
    return overhead;
}

std::uint64_t metal_working_set(std::uint64_t memory) {
    for (const WorkingSet& rule : constants().working_sets) {
        if (memory < rule.below) {
            // In whole MiB, as recommendedMaxWorkingSetSize is read: 5461 of 8 GiB.
            return memory / mib * rule.numerator / rule.denominator * mib;
        }
    }
    return memory;
}

} // namespace vramfit
