#include "figures.hpp"

#include <algorithm>

namespace vramfit {

std::string_view setting_of(const Diagnosis& diagnosis, std::string_view name) {
    const auto found = std::ranges::find(diagnosis.settings, name, &LogSetting::name);
    return found == diagnosis.settings.end() ? std::string_view() : std::string_view(found->value);
}

std::optional<std::uint64_t> value_of(const Diagnosis& diagnosis, std::string_view name) {
    const LogFigure* figure = diagnosis.figure(name);
    return figure == nullptr ? std::nullopt : std::optional(figure->value);
}

} // namespace vramfit
