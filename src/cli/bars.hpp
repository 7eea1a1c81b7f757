#pragma once

#include "cli/terminal.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// A line of the memory chart: what it is, how much, a bar, a remark.
struct BarRow {
    std::string_view label;
    std::uint64_t bytes = 0;
    std::string note = {};
    bool light = false; ///< what is free, or missing, is drawn lighter
};

/// The rows as aligned lines, with bars of one scale: `full` bytes are as wide as a bar can be.
std::string bar_chart(const std::vector<BarRow>& rows, std::uint64_t full, const Terminal& terminal);

} // namespace vramfit::cli
