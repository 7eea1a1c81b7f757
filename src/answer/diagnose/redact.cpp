// What a public report should not show.
#include "vramfit/answer/diagnosis.hpp"

#include "log_text.hpp"
#include "private_words.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

/// Names of fields whose value is private, by their end, and what stands for it.
constexpr std::array private_fields{
    std::pair("api-key", "KEY"),       std::pair("api_key", "KEY"),       std::pair("apikey", "KEY"),
    std::pair("api-keys", "KEY"),      std::pair("api_keys", "KEY"),      std::pair("apikeys", "KEY"),
    std::pair("access_key", "KEY"),    std::pair("access_key_id", "KEY"), std::pair("private_key", "KEY"),
    std::pair("token", "KEY"),         std::pair("password", "KEY"),      std::pair("passwd", "KEY"),
    std::pair("secret", "KEY"),        std::pair("bearer", "KEY"),        std::pair("authorization", "KEY"),
    std::pair("cookie", "KEY"),        std::pair("session_id", "KEY"),    std::pair("hft", "KEY"),
    std::pair("sessionid", "KEY"),     std::pair("host", "HOST"),         std::pair("hostname", "HOST"),
    std::pair("computername", "HOST"), std::pair("nodename", "HOST"),     std::pair("rpc", "HOST"),
    std::pair("user", "USER"),         std::pair("username", "USER"),     std::pair("logname", "USER"),
    std::pair("login", "USER"),        std::pair("email", "USER"),
};

/// What stands for the value of a field of that name; empty where it may be shown. Of a key any name that ends like it
/// counts, of a person or computer the whole name: "_HOSTNAME", but not "cuda_host".
std::string_view stand_in_of(std::string_view name) {
    std::string small = lower(name);
    small.erase(0, small.find_first_not_of("_-"));
    for (const auto& [end, shown] : private_fields) {
        if (small == end || (std::string_view(shown) == "KEY" && small.ends_with(end))) return shown;
    }
    const bool variable = std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
    return variable && small.ends_with("_host") ? "HOST" : ""; // OLLAMA_HOST
}

std::size_t word_length(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::find_if_not(text, is_word_char) - text.begin());
}

constexpr std::string_view value_ends = " \t\"',";

/// A word of a value, and what is listed behind it with commas alone between, unless that is a field: "a,b,n=1".
std::size_t list_length(std::string_view text) {
    std::size_t length = std::min(text.find_first_of(value_ends), text.size());
    while (length < text.size() && text[length] == ',') {
        const std::string_view next = text.substr(length + 1);
        const std::string_view item = next.substr(0, next.find_first_of(value_ends));
        if (item.empty() || item.find('=') != std::string_view::npos) break;
        length += 1 + item.size();
    }
    return length;
}

/// The value of field `name` at the head of `text`, behind a quotation mark or not. Cookies go on to the end of the line;
/// behind the name of a scheme ("Bearer", "Basic") stands what is secret.
std::size_t value_length(std::string_view name, std::string_view text, char before) {
    if (text.starts_with('[')) return std::min(text.find(']'), text.size() - 1) + 1;
    const bool quoted = before == '"' || before == '\'';
    const std::size_t close = quoted ? std::min(text.find(before), text.size()) : text.size();
    if (name.ends_with("cookie")) return quoted ? close : std::min(text.find_first_of("\"'"), text.size());
    if (quoted && close < text.size()) return close;
    const std::size_t length = list_length(text);
    const std::string scheme = lower(text.substr(0, length));
    const bool more = scheme == "bearer" || scheme == "basic" || scheme == "token" || scheme == "digest";
    return more && length + 1 < text.size() ? length + 1 + list_length(text.substr(length + 1)) : length;
}

struct Field {
    std::size_t value_at = 0; ///< behind the name
    std::size_t length = 0;   ///< of the value; 0: there is none that is private
    std::string_view shown;
};

/// The private field whose name is the `word` letters at the head of `text`: "user=jo", "\"host\": \"box\"",
/// "--api-key X", "Bearer X"; "api key: X" where `spoken` says that the word before is "api".
Field private_field(std::string_view text, std::size_t word, bool spoken) {
    const std::string name = lower(text.substr(0, word));
    const std::string_view shown =
        spoken && (name == "key" || name == "keys") ? "KEY" : stand_in_of(text.substr(0, word));
    const std::size_t at = text.find_first_not_of("=: \"'", word);
    if (shown.empty() || at == std::string_view::npos || at == word) return {};
    const bool assigned = text.substr(word, at - word).find_first_of("=:") != std::string_view::npos;
    if (!assigned && !name.starts_with("-") && name != "bearer") return {};
    const std::string_view value = text.substr(at, value_length(name, text.substr(at), text[at - 1]));
    const bool number = value.find_first_not_of("0123456789.-") == std::string_view::npos; // "BOS token = 1"
    const std::size_t surname = shown == "USER" ? surname_length(text.substr(at + value.size())) : 0;
    const bool plain = number && (shown == "KEY" || value.find('.') == std::string_view::npos);
    return plain || value == "None" || value == "null" ? Field{} : Field{at, value.size() + surname, shown};
}

bool is_process(std::string_view word) { // "ollama[3110]:"
    const std::size_t open = word.find('[');
    return open != std::string_view::npos && open > 0 && word.ends_with("]:") &&
           word.substr(open + 1, word.size() - open - 3).find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_month(std::string_view word) {
    constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    return word.size() == 3 && months.find(word) % 3 == 0;
}

bool is_time(std::string_view word) {
    return word.find(':') != std::string_view::npos && word.front() >= '0' && word.front() <= '9';
}

/// journald's columns: the host's name stands behind month, day and time, or behind one stamp, and before the process.
/// A part of `line`, empty where there is none.
std::string_view host_column(std::string_view line) {
    constexpr std::size_t most_words = 8;
    std::vector<std::string_view> words;
    for (std::size_t at = 0; words.size() < most_words;) {
        at = line.find_first_not_of(" \t", at);
        if (at == std::string_view::npos) break;
        const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    for (std::size_t i = 0; i + 2 < words.size(); ++i) { // uname -a: "Linux box 6.8.0-45-generic"
        const bool system = words[i] == "Linux" || words[i] == "Darwin";
        if (system && words[i + 2].front() >= '0' && words[i + 2].front() <= '9') return words[i + 1];
    }
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        const bool behind_time = is_time(words[i - 1]);
        const bool syslog = behind_time && i >= 3 && is_month(words[i - 3]);
        if (!syslog && !(behind_time && is_process(words[i + 1]))) continue;
        return words[i];
    }
    return {};
}

std::string without_host(std::string_view line) {
    const std::string_view host = host_column(line);
    if (host.empty()) return std::string(line);
    const auto from = static_cast<std::size_t>(host.data() - line.data());
    return std::string(line.substr(0, from)) + "HOST" + std::string(line.substr(from + host.size()));
}

/// Words that name no person and no computer in particular, though folders and machines are called so.
bool is_common(std::string_view name) {
    static constexpr std::array common{
        "root",   "user",      "users",  "ubuntu", "debian",    "linux",  "ollama",  "llama",   "vllm",
        "sglang", "localhost", "admin",  "public", "shared",    "runner", "default", "home",    "work",
        "models", "model",     "data",   "server", "docker",    "nvidia", "cuda",    "rocm",    "vulkan",
        "metal",  "host",      "kernel", "python", "torch",     "error",  "info",    "warning", "main",
        "memory", "device",    "buffer", "cache",  "container", "app",    "gpu",     "cpu"};
    constexpr std::size_t least_letters = 3;
    const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
    return name.size() < least_letters || number || std::ranges::find(common, lower(name)) != common.end();
}

/// `text` with NAME for `name` wherever that is a word of its own.
std::string without_name(const std::string& text, std::string_view name) {
    std::string result;
    std::size_t from = 0;
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const std::size_t end = at + name.size();
        const bool whole = (at == 0 || !is_word_char(text[at - 1])) && (end == text.size() || !is_word_char(text[end]));
        if (!whole || at < from) continue;
        result += text.substr(from, at - from) + "NAME";
        from = end;
    }
    return result + text.substr(from);
}

} // namespace

std::string redacted(std::string_view text) {
    const std::string line = without_host(text);
    std::string result;
    for (std::size_t at = 0; at < line.size();) {
        const std::string_view before = std::string_view(line).substr(0, at);
        const std::string_view rest = std::string_view(line).substr(at);
        const char last = before.empty() ? ' ' : before.back();
        const bool fresh = !is_word_char(last) && last != '/' && last != '.' && last != '\\';
        if (const PrivateWord found = fresh ? private_word(rest, before) : PrivateWord{}; found.length > 0) {
            result += found.shown;
            at += found.length;
            continue;
        }
        const std::size_t word = std::max<std::size_t>(word_length(rest), 1);
        const Field field = private_field(rest, word, lower(before).ends_with("api "));
        result += rest.substr(0, std::max(word, field.value_at));
        if (field.length > 0) result += field.shown;
        at += std::max(word, field.value_at + field.length);
    }
    return result;
}

std::string redacted(std::string_view text, const std::vector<std::string>& names) {
    std::string result = redacted(text);
    for (const std::string& name : names) {
        if (!is_common(name)) result = without_name(result, name);
    }
    return result;
}

std::string host_of(std::string_view line) { return std::string(host_column(line)); }

} // namespace vramfit
