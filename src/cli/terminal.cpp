#include "cli/terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#ifdef _WIN32
#include <io.h>
#include <stdio.h>
#else
#include <unistd.h>
#endif

namespace vramfit::cli {
namespace {

bool stdout_is_terminal() {
#ifdef _WIN32
    return _isatty(_fileno(stdout)) != 0;
#else
    return isatty(STDOUT_FILENO) == 1;
#endif
}

std::string process_environment(const char* name) {
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
    return value ? value : "";
}

/// POSIX: the first of the three that is set and not empty decides.
bool locale_is_utf8(const Terminal::Environment& environment) {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value = environment(name);
        if (value.empty()) continue;
        std::erase(value, '-');
        std::transform(value.begin(), value.end(), value.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
        return value.find("utf8") != std::string::npos;
    }
    return false;
}

std::string_view code_of(Color color) {
    switch (color) {
    case Color::red: return "\033[1;31m";
    case Color::green: return "\033[1;32m";
    case Color::yellow: return "\033[1;33m";
    case Color::bold: return "\033[1m";
    case Color::dim: return "\033[2m";
    }
    return "";
}

std::string repeat(std::string_view text, std::uint64_t times) {
    std::string result;
    for (std::uint64_t i = 0; i < times; ++i) result += text;
    return result;
}

/// Eighths rounded to whole characters, but a small part is never nothing.
std::uint64_t whole_characters(std::uint64_t eighths) {
    return eighths == 0 ? 0 : std::max<std::uint64_t>(1, (eighths + 4) / 8);
}

} // namespace

// no-color.org: NO_COLOR counts when it is set to anything but the empty text.
Terminal::Terminal(bool is_terminal, const Environment& environment)
    : colored_(is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb"),
      utf8_(locale_is_utf8(environment)) {}

Terminal Terminal::of_process() { return {stdout_is_terminal(), process_environment}; }

Terminal Terminal::with(ColorMode mode) const {
    Terminal result = *this;
    if (mode != ColorMode::automatic) result.colored_ = mode == ColorMode::always;
    return result;
}

std::string Terminal::paint(Color color, std::string_view text) const {
    if (!colored_) return std::string(text);
    return std::string(code_of(color)) + std::string(text) + "\033[0m";
}

std::string Terminal::bar(std::uint64_t length) const {
    if (!utf8_) return repeat("#", whole_characters(length));
    static constexpr std::array<std::string_view, 8> parts{"",       "\u258f", "\u258e", "\u258d",
                                                           "\u258c", "\u258b", "\u258a", "\u2589"};
    return repeat("\u2588", length / 8) + std::string(parts[length % 8]);
}

std::string Terminal::light_bar(std::uint64_t length) const {
    return repeat(utf8_ ? "\u2591" : ".", whole_characters(length));
}

} // namespace vramfit::cli
