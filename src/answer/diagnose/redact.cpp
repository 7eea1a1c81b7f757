// What a public report should not show.
#include "vramfit/answer/diagnosis.hpp"

#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace vramfit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

bool is_path_char(char c) {
    return is_word_char(c) || std::string_view("./\\~+@%:").find(c) != std::string_view::npos || (c & '\x80') != 0;
}

/// Four numbers with points between, a port behind.
std::size_t address_length(std::string_view text) {
    std::size_t i = 0;
    for (int part = 0; part < 4; ++part) {
        const std::size_t start = i;
        while (i < text.size() && is_digit(text[i])) ++i;
        if (i == start || i - start > 3) return 0;
        if (part < 3 && (i >= text.size() || text[i++] != '.')) return 0;
    }
    if (i < text.size() && (is_word_char(text[i]) || (text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]))))
        return 0;
    for (const std::string_view level : {" I ", " W ", " E ", " D "}) { // llama.cpp's clock: "0.01.669.486 I "
        if (text.substr(i).starts_with(level)) return 0;
    }
    if (i + 1 < text.size() && text[i] == ':' && is_digit(text[i + 1])) {
        ++i;
        while (i < text.size() && is_digit(text[i])) ++i;
    }
    return i;
}

/// The start of a path: "/home/...", "~/...", "C:\...", "\\host\...".
bool starts_path(std::string_view text) {
    if (text.starts_with("~/") || text.starts_with("\\\\")) return true;
    if (text.size() > 2 && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && text[1] == ':' &&
        (text[2] == '\\' || (text[2] == '/' && text.substr(0, 4).find("//") == std::string_view::npos)))
        return true;
    return text.size() > 1 && text[0] == '/' && is_word_char(text[1]) &&
           text.substr(1).find('/') != std::string_view::npos;
}

/// Keys: of Hugging Face, OpenAI and their like, and whatever stands behind "key", "token", "password".
bool starts_key(std::string_view text) {
    for (const std::string_view front : {"hf_", "sk-", "ghp_", "gho_", "github_pat_", "xoxb-", "AKIA", "eyJ"}) {
        if (text.starts_with(front) && text.size() > front.size() + 8 &&
            std::all_of(text.begin() + static_cast<std::ptrdiff_t>(front.size()),
                        text.begin() + static_cast<std::ptrdiff_t>(front.size() + 8), is_word_char))
            return true;
    }
    return false;
}

bool is_secret_name(std::string_view word) {
    const std::string name = lower(word);
    for (const std::string_view end :
         {"api-key", "api_key", "apikey", "token", "password", "secret", "authorization", "bearer"}) {
        if (name.ends_with(end)) return true;
    }
    return false;
}

std::size_t run_length(std::string_view text, bool (*belongs)(char)) {
    std::size_t i = 0;
    while (i < text.size() && belongs(text[i])) ++i;
    return i;
}

bool is_unblank(char c) { return c != ' ' && c != '\t' && c != '"' && c != '\'' && c != ','; }

/// journald's columns: the host's name stands behind month, day and time.
std::string without_host(std::string_view line) {
    std::size_t at = 0;
    std::size_t starts[5] = {};
    std::size_t n = 0;
    while (n < 5 && at < line.size()) {
        at = line.find_first_not_of(' ', at);
        if (at == std::string_view::npos) break;
        starts[n++] = at;
        at = std::min(line.find(' ', at), line.size());
    }
    if (n < 5) return std::string(line);
    const std::string_view month = line.substr(0, 3);
    static constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const bool journal = starts[0] == 0 && starts[1] == 4 && months.find(month) % 3 == 0 && is_digit(line[starts[1]]) &&
                         line.substr(starts[2], starts[3] - starts[2]).find(':') != std::string_view::npos;
    if (!journal) return std::string(line);
    return std::string(line.substr(0, starts[3])) + "HOST" + std::string(line.substr(line.find(' ', starts[3])));
}

} // namespace

std::string redacted(std::string_view text) {
    const std::string line = without_host(text);
    std::string result;
    std::string_view rest = line;
    char before = ' ';
    while (!rest.empty()) {
        const bool fresh = !is_word_char(before) && before != '/' && before != '.';
        std::size_t skip = 0;
        if (fresh && starts_key(rest)) {
            result += "KEY";
            skip = run_length(rest, is_word_char);
        } else if (fresh && address_length(rest) > 0) {
            result += "ADDRESS";
            skip = address_length(rest);
        } else if (const auto scheme = rest.substr(0, 8).find("://");
                   fresh && scheme != std::string_view::npos && scheme > 2) {
            result += std::string(rest.substr(0, scheme)) + "://ADDRESS";
            skip = run_length(rest, is_unblank);
        } else if (fresh && starts_path(rest)) {
            std::size_t length = run_length(rest, is_path_char);
            while (length > 1 && (rest[length - 1] == ':' || rest[length - 1] == '.')) --length;
            result += "PATH/" + std::string(log_text::file_name(rest.substr(0, length)));
            skip = length;
        }
        if (skip > 0) {
            before = rest[skip - 1];
            rest.remove_prefix(skip);
            continue;
        }
        const std::size_t word = run_length(rest, is_word_char);
        if (word == 0) {
            before = rest.front();
            result += before;
            rest.remove_prefix(1);
            continue;
        }
        const std::string_view name = rest.substr(0, word);
        const std::size_t at = rest.find_first_not_of("=: \"'", word);
        const bool user = rest.size() > word && rest[word] == '@'; // user@host
        result += user ? "USER" : std::string(name);
        before = name.back();
        rest.remove_prefix(word);
        if (user) {
            result += "@HOST";
            rest.remove_prefix(1);
            const std::size_t host = run_length(rest, is_word_char);
            rest.remove_prefix(host);
        } else if (is_secret_name(name) && at != std::string_view::npos && at > word) {
            result += std::string(rest.substr(0, at - word)) + "KEY";
            rest.remove_prefix(at - word);
            std::size_t value = run_length(rest, is_unblank);
            if (lower(rest.substr(0, 6)) == "bearer")
                value += 1 + run_length(rest.substr(std::min(value + 1, rest.size())), is_unblank);
            rest.remove_prefix(std::min(value, rest.size()));
        }
    }
    return result;
}

} // namespace vramfit
