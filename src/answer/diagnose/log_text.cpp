#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace vramfit::log_text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view at_number(std::string_view text) {
    const auto skipped = [](char c) {
        switch (c) {
        case ' ':
        case '\t':
        case '=':
        case ':':
        case '"':
        case '\'':
        case '(':
        case '[':
        case '~':
        case '`': return true;
        default: return false;
        }
    };
    while (!text.empty() && skipped(text.front())) text.remove_prefix(1);
    return text;
}

/// Digits with commas between thousands, point and fraction; moves `text` behind them.
std::optional<double> take_number(std::string_view& text) {
    std::string digits;
    std::size_t i = 0;
    if (i < text.size() && text[i] == '-') digits += text[i++];
    const std::size_t first = i;
    while (i < text.size() && digits.size() < 24) {
        const bool thousands = text[i] == ',' && i > first && i + 3 < text.size() && is_digit(text[i + 1]) &&
                               is_digit(text[i + 2]) && is_digit(text[i + 3]);
        const bool point = text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]);
        if (!is_digit(text[i]) && !thousands && !point) break;
        if (!thousands) digits += text[i];
        ++i;
    }
    if (i == first) return std::nullopt;
    text.remove_prefix(i);
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    return value;
}

std::optional<double> unit_of(std::string_view text) {
    const std::string name = lower(trimmed(text).substr(0, 5));
    if (name.starts_with("k")) return 1024.0;
    if (name.starts_with("mib") || name.starts_with("mb") || name == "m") return 1024.0 * 1024;
    if (name.starts_with("gib") || name.starts_with("gb") || name == "g") return 1024.0 * 1024 * 1024;
    if (name.starts_with("tib") || name.starts_with("tb")) return 1024.0 * 1024 * 1024 * 1024;
    return std::nullopt;
}

/// A word of digits and their punctuation, such as a time or llama.cpp's clock.
bool is_time(std::string_view word) {
    const auto counts = [](char c) {
        return is_digit(c) || std::string_view(".:-/+,TZ[]").find(c) != std::string_view::npos;
    };
    const bool amount = word.find_first_not_of("0123456789.") == std::string_view::npos &&
                        std::ranges::count(word, '.') == 1; // "190.50 MiB is free"
    return !word.empty() && !amount && std::all_of(word.begin(), word.end(), counts) &&
           std::any_of(word.begin(), word.end(), is_digit);
}

bool is_level(std::string_view word) {
    for (const std::string_view level :
         {"I", "W", "E", "D", "INFO", "WARN", "WARNING", "ERROR", "DEBUG", ">", "|", "stdout", "stderr", "F", "P"}) {
        if (word == level) return true;
    }
    return false;
}

/// "file.py:123]", "[file.py:123]", "ollama[3110]:", "[rank0]:", "[pod/a-b/c]".
bool is_tag(std::string_view word) {
    if (word.ends_with("]:") || word.ends_with("]")) return word.find(' ') == std::string_view::npos;
    return false;
}

} // namespace

std::optional<std::string_view> after(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    return text.substr(at + mark.size());
}

std::string_view before(std::string_view text, std::string_view mark) { return text.substr(0, text.find(mark)); }

std::optional<double> number(std::string_view text) {
    text = at_number(text);
    return take_number(text);
}

std::optional<std::uint64_t> size_after(std::string_view text, std::string_view mark) {
    const auto rest = after(text, mark);
    return rest ? size_in(*rest) : std::nullopt;
}

std::optional<std::uint64_t> size_before(std::string_view text, std::string_view mark) {
    const std::size_t at = text.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    std::size_t start = at;
    while (start > 0 && (text[start - 1] == '.' || (text[start - 1] >= '0' && text[start - 1] <= '9') ||
                         std::string_view("GMKTiBbytes").find(text[start - 1]) != std::string_view::npos))
        --start;
    const std::size_t digits = text.find_first_of("0123456789", start);
    return digits < at ? size_in(text.substr(digits, at - digits)) : std::nullopt;
}

std::optional<std::uint64_t> bytes_of(double amount, double unit) {
    const double bytes = std::floor(amount * unit);
    if (!(bytes >= 0) || bytes > 1e18) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> count(std::string_view text) {
    const auto value = number(text);
    return value ? bytes_of(*value, 1) : std::nullopt;
}

std::optional<std::uint64_t> size_in(std::string_view text) {
    text = at_number(text);
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    const auto unit = unit_of(text);
    if (!unit && *value != std::floor(*value)) return std::nullopt;
    return bytes_of(*value, unit.value_or(1));
}

std::optional<std::string_view> field(std::string_view line, std::string_view key) {
    for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
        std::string_view rest = line.substr(at + key.size());
        if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '"') continue;
        if (rest.starts_with("\"=")) rest.remove_prefix(1);
        if (!rest.starts_with('=')) continue;
        rest.remove_prefix(1);
        std::string_view value = word(rest);
        while (value.starts_with('[')) value.remove_prefix(1);
        while (value.ends_with(']')) value.remove_suffix(1);
        return value;
    }
    return std::nullopt;
}

std::string_view name_before(std::string_view line, std::size_t end) {
    std::string_view text = line.substr(0, end);
    const std::size_t colon = text.rfind(": ");
    if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
    return trimmed(text);
}

std::string_view word(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty()) return text;
    const char quote = text.front();
    if (quote == '"' || quote == '\'') return before(text.substr(1), std::string_view(&quote, 1));
    return text.substr(0, text.find_first_of(" \t,"));
}

std::string without_colors(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\x1b') {
            text += line[i];
            continue;
        }
        if (i + 1 >= line.size() || line[i + 1] != '[') continue;
        for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~');) ++i;
    }
    return text;
}

namespace {

/// Zero width space, its like for joining and not joining, word joiner, byte order mark; soft hyphen.
constexpr std::array<std::string_view, 6> hidden{"\xe2\x80\x8b", "\xe2\x80\x8c", "\xe2\x80\x8d",
                                                 "\xe2\x81\xa0", "\xef\xbb\xbf", "\xc2\xad"};

} // namespace

bool has_hidden(std::string_view line) {
    for (const char lead : {'\xe2', '\xef', '\xc2'}) {
        if (line.find(lead) == std::string_view::npos) continue;
        for (const std::string_view character : hidden) {
            if (line.find(character) != std::string_view::npos) return true;
        }
        return false;
    }
    return false;
}

std::string without_hidden(std::string_view line) {
    std::string text;
    while (!line.empty()) {
        const auto* const found =
            std::ranges::find_if(hidden, [&](std::string_view character) { return line.starts_with(character); });
        const std::size_t length = found == hidden.end() ? 1 : found->size();
        if (found == hidden.end()) text += line.front();
        line.remove_prefix(length);
    }
    return text;
}

std::string_view without_prefix(std::string_view line) {
    if (const std::size_t tag = line.find("]: "); tag < 100) { // Sep 11 00:42:50 host ollama[3110]: ...
        const std::string_view head = line.substr(0, tag);
        const std::size_t open = head.rfind('[');
        if (open != std::string_view::npos && head.find_first_not_of("0123456789", open + 1) == std::string_view::npos)
            line.remove_prefix(tag + 3);
    }
    for (int word_count = 0; word_count < 12; ++word_count) {
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (line.starts_with('(') && line.find(" pid=") < 30) { // (EngineCore_DP0 pid=1094)
            line.remove_prefix(std::min(line.find(')'), line.size() - 1) + 1);
            continue;
        }
        const std::size_t bar = line.find(" | ");
        if (bar < 30 && line.substr(0, bar).find("  ") == std::string_view::npos && word_count == 0) {
            line.remove_prefix(bar + 3);
            continue;
        }
        const std::string_view first = line.substr(0, line.find(' '));
        if (!is_time(first) && !is_level(first) && !is_tag(first)) break;
        line.remove_prefix(first.size());
    }
    return line;
}

std::string squeezed(std::string_view text) {
    std::string result;
    std::copy_if(text.begin(), text.end(), std::back_inserter(result),
                 [](char c) { return c != ' ' && c != '\t' && c != '\r'; });
    return result;
}

bool in_path(std::string_view line, std::size_t at) {
    constexpr std::string_view ends = " \t\"'=(),;";
    const std::size_t before = at == 0 ? std::string_view::npos : line.find_last_of(ends, at - 1);
    const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view token = line.substr(start, line.find_first_of(ends, at) - start);
    return token.find_first_of("/\\") != std::string_view::npos;
}

bool is_frame_of(std::string_view line, std::size_t at, std::string_view rest,
                 std::initializer_list<std::string_view> modules) {
    const std::string_view head = line.substr(0, at);
    if (head.find("File \"") == std::string_view::npos || rest.find("\", line ") == std::string_view::npos)
        return false;
    const bool installed = head.ends_with("-packages") || head.ends_with("-packages/");
    return installed || std::ranges::any_of(modules, [&](std::string_view m) { return rest.starts_with(m); });
}

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

std::string_view model_file_name(std::string_view path) {
    const std::string_view file = file_name(path);
    if (file != "model.gguf" || file.size() + 1 >= path.size()) return file;
    const std::string_view folder = path.substr(0, path.size() - file.size() - 1);
    const std::string_view name = file_name(folder);
    const std::string_view above =
        file_name(folder.substr(0, std::max(folder.size() - name.size(), std::size_t{1}) - 1));
    const bool is_user = above == "home" || above == "Users"; // whose name is nobody's business
    return is_user || name.empty() ? file : name;
}

} // namespace vramfit::log_text
