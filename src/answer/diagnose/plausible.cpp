#include "plausible.hpp"

#include "vramfit/base/bytes.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// Larger than the memory of any computer that runs one of these programs.
constexpr std::uint64_t most_bytes = 64 * kib * gib;

bool is_impossible(const OptionalLogged& figure) { return figure && figure->value > most_bytes; }

/// Drops what cannot be; true where something was.
bool forget_impossible(OptionalLogged& total, OptionalLogged& free) {
    const bool more_free = total && free && free->value > total->value;
    const bool any = is_impossible(total) || is_impossible(free) || more_free;
    if (is_impossible(total)) total.reset();
    if (is_impossible(free) || more_free) free.reset();
    return any;
}

bool forget_more_free(Load& load, std::string_view total, std::string_view free) {
    const auto of_total = load.numbers.find(total), of_free = load.numbers.find(free);
    const bool more = of_total != load.numbers.end() && of_free != load.numbers.end() &&
                      of_free->second.value > of_total->second.value;
    if (more) load.numbers.erase(of_free);
    return more;
}

} // namespace

Load without_impossible(Load load) {
    bool any = false;
    for (LogDevice& device : load.devices) any = forget_impossible(device.total, device.free) || any;
    any = std::erase_if(load.numbers, [](const auto& entry) { return entry.second.value > most_bytes; }) > 0 || any;
    any = std::erase_if(load.buffers, [](const LogBuffer& buffer) { return buffer.bytes > most_bytes; }) > 0 || any;
    for (const std::string_view free : {"gpu_free", "free_now", "free"})
        any = forget_more_free(load, "gpu_total", free) || any;
    any = forget_more_free(load, "host_total", "host_free") || any;
    if (load.failure && is_impossible(load.failure->refusal.bytes)) load.failure->refusal.bytes.reset(), any = true;
    if (any) load.notes.emplace_back("the log has figures that no computer has; they do not count");
    return load;
}

} // namespace vramfit
