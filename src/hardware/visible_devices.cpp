#include "detect_parts.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// The one device whose UUID begins with `text`; none where it fits several, as in CUDA.
std::optional<std::size_t> device_with(const std::vector<std::string>& uuids, std::string_view text) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < uuids.size(); ++i) {
        if (lower(uuids[i]).find(lower(text)) != 0) continue;
        if (found) return std::nullopt;
        found = i;
    }
    return found;
}

} // namespace

std::vector<std::size_t> visible_devices(std::string_view variable, std::string_view value,
                                         const std::vector<std::string>& uuids, std::size_t n_indexed) {
    std::vector<std::size_t> visible;
    for (const std::string_view entry : comma_separated(value)) {
        std::optional<std::size_t> device;
        if (const auto index = number_in(entry)) {
            if (*index < n_indexed) device = static_cast<std::size_t>(*index);
        } else if (entry.size() > 4) { // more than "GPU-", which begins them all
            device = device_with(uuids, entry);
        }
        if (!device) break; // what follows an entry that names nothing is invisible (CUDA programming guide)
        if (std::ranges::find(visible, *device) != visible.end())
            throw Error(std::string(variable) + "=" + quote(value) +
                        " names one GPU twice, and the driver then offers none; name each once");
        visible.push_back(*device);
    }
    return visible;
}

} // namespace vramfit
