#include "log_envelope.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace vramfit {
namespace {

void append_utf8(std::string& text, std::uint32_t code) {
    const auto tail = [&](std::uint32_t bits) { text += static_cast<char>(0x80U | (bits & 0x3fU)); };
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0U | (code >> 6U));
        tail(code);
    } else {
        text += static_cast<char>(0xe0U | (code >> 12U));
        tail(code >> 6U);
        tail(code);
    }
}

/// So many hexadecimal digits at the start of `text` as a character; moves `text` behind them.
void append_code(std::string& result, std::string_view& text, std::size_t n_digits) {
    std::uint32_t code = 0;
    const std::string_view digits = text.substr(0, n_digits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) return;
    text.remove_prefix(digits.size());
    if (n_digits == 2)
        result += static_cast<char>(code);
    else if (code > 0)
        append_utf8(result, code);
}

/// A string of JSON or Go from behind its opening quotation mark on; moves `text` behind the closing one.
std::string take_string(std::string_view& text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find_first_of("\\\""), text.size());
        result += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const bool ends = text.front() == '"';
        text.remove_prefix(1);
        if (ends || text.empty()) break;
        const char escaped = text.front();
        text.remove_prefix(1);
        switch (escaped) {
        case 'n': result += '\n'; break;
        case 't': result += '\t'; break;
        case 'r': result += '\r'; break;
        case 'u': append_code(result, text, 4); break;
        case 'x': append_code(result, text, 2); break;
        default: result += escaped;
        }
    }
    return result;
}

std::optional<std::string> text_of_json(std::string_view line) {
    const auto says = [&](std::string_view key) { return line.find(key) != std::string_view::npos; };
    if (!says("\"stream\"") && !says("\"time") && !says("\"ts\"") && !says("\"level\"") && !says("\"_HOSTNAME\"") &&
        !says("\"@timestamp\""))
        return std::nullopt;
    for (const std::string_view key : {"\"log\":", "\"msg\":", "\"message\":", "\"MESSAGE\":"}) {
        const std::size_t at = line.find(key);
        if (at == std::string_view::npos) continue;
        std::string_view value = trimmed(line.substr(at + key.size()));
        if (!value.starts_with('"')) continue;
        value.remove_prefix(1);
        return take_string(value);
    }
    return std::nullopt;
}

std::optional<std::string> text_of_logfmt(std::string_view line) {
    constexpr std::string_view key = "msg=\"";
    const std::size_t at = line.find(key);
    if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ')) return std::nullopt;
    if (line.substr(0, at).find("source=") != std::string_view::npos) return std::nullopt;
    std::string_view rest = line.substr(at + key.size());
    std::string text = take_string(rest);
    const bool says_more =
        rest.find(" err=") != std::string_view::npos || rest.find(" error=") != std::string_view::npos;
    if (says_more) text.append(rest);
    return text;
}

std::size_t sequence_length(unsigned char first) {
    if (first >= 0xc2 && first < 0xe0) return 2;
    if (first >= 0xe0 && first < 0xf0) return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

} // namespace

std::string_view unquoted(std::string_view line) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) return line;
    const char mark = line[first];
    if (mark == '>') {
        while (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with('>')) {
            line.remove_prefix(line.find('>') + 1);
            if (line.starts_with(' ')) line.remove_prefix(1);
        }
        return unquoted(line);
    }
    if (mark == '|') {
        std::string_view inner = trimmed(line);
        if (inner.size() < 2 || !inner.ends_with('|')) return line;
        inner = inner.substr(1, inner.size() - 2);
        if (inner.starts_with(' ')) inner.remove_prefix(1);
        return inner.substr(0, inner.find_last_not_of(' ') + 1);
    }
    if (mark != '`') return line;
    line.remove_prefix(std::min(line.find_first_not_of(" `"), line.size()));
    return line.substr(0, line.find_last_not_of(" `") + 1);
}

std::optional<std::string> text_of_record(std::string_view line) {
    const std::string_view record = trimmed(line);
    if (record.starts_with('{') && record.ends_with('}')) return text_of_json(record);
    return text_of_logfmt(line);
}

std::string_view without_broken_end(std::string_view line) {
    while (!line.empty() && static_cast<unsigned char>(line.back()) >= 0x80) {
        std::size_t length = 1;
        while (length < 4 && length < line.size() &&
               (static_cast<unsigned char>(line[line.size() - length]) & 0xc0U) == 0x80U)
            ++length;
        if (sequence_length(static_cast<unsigned char>(line[line.size() - length])) == length) break;
        line.remove_suffix(1);
    }
    return line;
}

} // namespace vramfit
