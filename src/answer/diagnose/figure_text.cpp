#include "figure_text.hpp"

#include "vramfit/base/bytes.hpp"

#include <cstdio>

namespace vramfit {

std::string tokens_text(std::uint64_t n) { return std::to_string(n) + " tokens"; }

std::string size_text(const LogFigure& figure) {
    return figure.value >= 10 * gib || figure.value % gib == 0 ? format_bytes(figure.value) : format_mib(figure.value);
}

std::string decimal_gb(std::uint64_t bytes) {
    char text[32] = {};
    std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) / 1e9);
    return text;
}

std::string line_text(const LogFigure& figure) {
    return figure.line == 0 ? "" : " (line " + std::to_string(figure.line) + ")";
}

} // namespace vramfit
