#include "overrides.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::string_view host_buffer = "CPU";
constexpr std::size_t most_listed = 8;

/// "CPU, CUDA0 or CUDA1"; of many devices the first and the last.
std::string listed(const std::vector<std::string>& names) {
    if (names.size() <= most_listed) return enumerated(names);
    return names[0] + " or " + names[1] + " to " + names.back();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

TensorOverride parse_override(std::string_view text, const std::vector<std::string>& names) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos)
        throw Error("an override of tensors must be REGEX=BUFFER, such as exps=CPU, not " + quote(text));
    if (std::ranges::any_of(text, is_control))
        throw Error("the override " + quote(text) + " holds a control character");
    const std::string_view buffer = text.substr(equals + 1);
    const auto known = std::ranges::find(names, buffer);
    if (known == names.end())
        throw Error("unknown buffer " + quote(buffer) + " in the override " + quote(text) + "; it can be " +
                    listed(names));
    return {std::string(text.substr(0, equals)), static_cast<std::int32_t>(known - names.begin()) - 1};
}

} // namespace

std::string_view backend_of(Device::Kind kind) {
    switch (kind) {
    case Device::Kind::rocm: return "rocm";
    case Device::Kind::metal: return "metal";
    case Device::Kind::vulkan: return "vulkan";
    case Device::Kind::cuda:
    case Device::Kind::generic: break;
    }
    return "cuda";
}

std::string buffer_name(const std::vector<Device>& devices, std::size_t index, const RuntimeProfile& runtime) {
    const std::string_view backend = backend_of(devices[index].kind);
    const auto before = devices.begin() + static_cast<std::ptrdiff_t>(index);
    const auto number =
        std::count_if(devices.begin(), before, [&](const Device& d) { return backend_of(d.kind) == backend; });
    return runtime.buffers.at(std::string(backend)) + std::to_string(number);
}

std::vector<TensorOverride> parse_overrides(const std::vector<std::string>& texts, const std::vector<Device>& devices,
                                            const RuntimeProfile& runtime) {
    std::vector<TensorOverride> overrides;
    if (texts.empty()) return overrides;
    std::vector<std::string> names{std::string(host_buffer)}; // device -1 and on
    for (std::size_t i = 0; i < devices.size(); ++i) names.push_back(buffer_name(devices, i, runtime));
    for (const std::string& text : texts) {
        for (std::string_view rest = text;;) {
            const std::size_t comma = rest.find(',');
            overrides.push_back(parse_override(rest.substr(0, comma), names));
            if (comma == std::string_view::npos) break;
            rest.remove_prefix(comma + 1);
        }
    }
    return overrides;
}

} // namespace vramfit
