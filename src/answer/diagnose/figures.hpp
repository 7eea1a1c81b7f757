#pragma once

#include "vramfit/answer/diagnosis.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramfit {

/// The setting `name` as the log has it; empty where it does not show.
std::string_view setting_of(const Diagnosis& diagnosis, std::string_view name);

/// The value of the figure `name`.
std::optional<std::uint64_t> value_of(const Diagnosis& diagnosis, std::string_view name);

} // namespace vramfit
