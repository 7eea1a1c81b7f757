#include "private_words.hpp"

#include "log_text.hpp"

#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace vramfit {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_slash(char c) { return c == '/' || c == '\\'; }

template <typename Belongs>
std::size_t run_length(std::string_view text, Belongs belongs) {
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), belongs) - text.begin());
}

/// Keys of Hugging Face, OpenAI and their like begin with what tells whose they are.
PrivateWord key(std::string_view text) {
    constexpr std::size_t least_secret = 8;
    for (const std::string_view front : {"hf_", "sk-", "nvapi-", "gsk_", "ghp_", "gho_", "ghs_", "glpat-",
                                         "github_pat_", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "dop_v1_", "eyJ"}) {
        if (!text.starts_with(front)) continue;
        const std::size_t length = run_length(text, [](char c) { return is_word_char(c) || c == '.'; });
        if (length >= front.size() + least_secret) return {length, "KEY"};
    }
    return {};
}

/// "0.01.669.486" is llama.cpp's clock, "version 12.4.0.1" a version.
bool is_no_address(std::string_view address, std::string_view behind, std::string_view before) {
    for (const std::string_view level : {" I ", " W ", " E ", " D "}) {
        if (behind.starts_with(level)) return true;
    }
    std::string word = lower(before.substr(before.size() - std::min<std::size_t>(before.size(), 24)));
    while (!word.empty() && std::string_view(" =:\"'(").find(word.back()) != std::string_view::npos) word.pop_back();
    for (const std::string_view named : {"version", "driver", "cuda", "cudnn", "rocm", "hip", "runtime", "release",
                                         "build", "python", "toolkit", "vulkan", "level_zero"}) {
        if (word.ends_with(named)) return true;
    }
    for (std::size_t i = 0; i + 1 < address.size(); ++i) {
        const bool begins = i == 0 || address[i - 1] == '.';
        if (begins && address[i] == '0' && is_digit(address[i + 1])) return true; // no address is written so
    }
    return false;
}

/// Four numbers with points between, a port behind.
PrivateWord ip4(std::string_view text, std::string_view before) {
    std::size_t i = 0;
    for (int part = 0; part < 4; ++part) {
        const std::size_t digits = run_length(text.substr(i), is_digit);
        if (digits == 0 || digits > 3 || log_text::count(text.substr(i, digits)).value_or(256) > 255) return {};
        i += digits;
        if (part < 3 && (i >= text.size() || text[i++] != '.')) return {};
    }
    const std::string_view behind = text.substr(i);
    if (!behind.empty() && (is_word_char(behind[0]) || (behind[0] == '.' && behind.size() > 1 && is_digit(behind[1]))))
        return {};
    if (is_no_address(text.substr(0, i), behind, before)) return {};
    if (behind.size() > 1 && behind[0] == ':') i += 1 + run_length(behind.substr(1), is_digit);
    return {i, "ADDRESS"};
}

/// Groups of hexadecimal digits with colons between: six pairs are a network card's, eight groups or a "::" are IPv6.
PrivateWord colon_address(std::string_view text) {
    const std::size_t length = run_length(text, [](char c) { return is_hex(c) || c == ':'; });
    if (length < 3 || (length < text.size() && is_word_char(text[length]))) return {};
    std::size_t groups = 0, pairs = 0;
    bool digits = false;
    for (std::string_view rest = text.substr(0, length);;) {
        const std::size_t size = std::min(rest.find(':'), rest.size());
        if (size > 4) return {};
        ++groups;
        pairs += size == 2 ? 1 : 0;
        digits = digits || size > 0;
        if (size == rest.size()) break;
        rest.remove_prefix(size + 1);
    }
    const bool card = groups == 6 && pairs == 6;
    const bool ip6 = digits && (groups == 8 || text.substr(0, length).find("::") != std::string_view::npos);
    if (!card && !ip6) return {};
    return {length, "ADDRESS"};
}

/// "8932f937-d72c-4106-c12f-20bd9faed9f6", which is of one card, one machine or one request in the world.
std::size_t unique_id_length(std::string_view text) {
    std::size_t length = 0;
    for (const std::size_t digits : {8U, 4U, 4U, 4U, 12U}) {
        if (length > 0 && (length >= text.size() || text[length++] != '-')) return 0;
        if (run_length(text.substr(length, digits), is_hex) != digits) return 0;
        length += digits;
    }
    return length < text.size() && is_word_char(text[length]) ? 0 : length;
}

/// "GPU-8932f937-...", "MIG-...", and such an id alone. What was cut short tells still too much.
PrivateWord unique_id(std::string_view text) {
    for (const std::string_view front : {"GPU-", "MIG-"}) {
        if (!text.starts_with(front)) continue;
        constexpr std::size_t least_digits = 8;
        const std::string_view id = text.substr(front.size());
        if (run_length(id, is_hex) < least_digits) return {};
        return {front.size() + run_length(id, [](char c) { return is_hex(c) || c == '-' || c == '/'; }),
                std::string(front) + "ID"};
    }
    const std::size_t length = unique_id_length(text);
    return length == 0 ? PrivateWord{} : PrivateWord{length, "ID"};
}

/// "build01.corp.internal", "nas.local:8080": names that only a local network knows. Public names with a port or three
/// parts and more ("api.example.com") are somebody's machines, too.
PrivateWord host_name(std::string_view text) {
    const std::size_t length = run_length(text, [](char c) { return is_word_char(c) || c == '.'; });
    std::string_view name = text.substr(0, length);
    while (name.ends_with('.')) name.remove_suffix(1);
    const std::size_t point = name.find_last_of('.');
    if (point == std::string_view::npos || point == 0 || name.find('_') != std::string_view::npos) return {};
    const std::string_view behind = text.substr(name.size());
    if (!behind.empty() && (is_slash(behind[0]) || behind[0] == '(')) return {};
    const std::size_t port = behind.starts_with(':') ? run_length(behind.substr(1), is_digit) : 0;
    const std::string end = lower(name.substr(point + 1));
    const auto is_one_of = [&](std::initializer_list<std::string_view> ends) {
        return std::ranges::find(ends, std::string_view(end)) != ends.end();
    };
    const bool local =
        is_one_of({"internal", "lan", "local", "localdomain", "home", "corp", "intranet", "private", "arpa"}) &&
        is_letter(end.front());
    const bool many = std::ranges::count(name, '.') >= 2;
    const bool open = is_one_of({"com", "net", "org", "edu", "gov", "io", "ai", "dev", "cloud", "de", "fr", "uk", "eu",
                                 "ch", "nl", "jp", "cn"}) &&
                      (many || port > 0);
    if (!local && !open) return {};
    return {name.size() + (port > 0 ? port + 1 : 0), "HOST"};
}

/// "http://user:password@host:8080/path", "s3://bucket/key".
PrivateWord url(std::string_view text) {
    const std::size_t scheme = run_length(text, [](char c) { return is_word_char(c) || c == '+'; });
    if (scheme < 2 || !is_letter(text[0]) || !text.substr(scheme).starts_with("://")) return {};
    const auto belongs = [](char c) { return std::string_view(" \t\"',<>").find(c) == std::string_view::npos; };
    const std::size_t length = scheme + run_length(text.substr(scheme), belongs);
    return {length, std::string(text.substr(0, scheme)) + "://ADDRESS"};
}

/// "jo.smith@example.com", "jo@box".
PrivateWord user_at_host(std::string_view text) {
    const auto of_name = [](char c) { return is_word_char(c) || c == '.' || c == '+' || c == '%'; };
    const std::size_t user = run_length(text, of_name);
    if (user == 0 || user >= text.size() || text[user] != '@') return {};
    std::size_t host = run_length(text.substr(user + 1), [](char c) { return is_word_char(c) || c == '.'; });
    if (host > 0 && text[user + host] == '.') --host; // a sentence's end
    return host == 0 ? PrivateWord{} : PrivateWord{user + 1 + host, "USER@HOST"};
}

/// "RPC0[box:50052]": a device of another computer.
PrivateWord rpc_device(std::string_view text) {
    if (!text.starts_with("RPC")) return {};
    const std::size_t open = 3 + run_length(text.substr(3), is_digit);
    const std::size_t close = text.find(']');
    if (open >= text.size() || text[open] != '[' || close == std::string_view::npos) return {};
    return {close + 1, std::string(text.substr(0, open + 1)) + "HOST]"};
}

// ---- Paths --------------------------------------------------------------------------------------------------------------

bool is_path_char(char c) {
    return is_word_char(c) || std::string_view("./\\~+@%:").find(c) != std::string_view::npos || (c & '\x80') != 0;
}

bool is_file(std::string_view word) {
    for (const std::string_view end : {".gguf", ".safetensors", ".bin", ".json", ".log", ".txt", ".py", ".exe"}) {
        if (lower(word).ends_with(end)) return true;
    }
    return false;
}

/// "/home/...", "~/...", "~jo/...", "./...", "C:\...", "\\host\...", "models/x.gguf".
bool starts_path(std::string_view text) {
    const std::size_t home = text.starts_with('~') ? 1 + run_length(text.substr(1), is_word_char) : 0;
    if (home > 0) return home < text.size() && is_slash(text[home]);
    if (text.starts_with("\\\\") || text.starts_with("./") || text.starts_with("../") || text.starts_with(".\\"))
        return true;
    if (text.size() > 2 && is_letter(text[0]) && text[1] == ':' &&
        (text[2] == '\\' || (text[2] == '/' && !text.substr(3).starts_with('/'))))
        return true;
    if (text.size() > 1 && text[0] == '/')
        return is_word_char(text[1]) && text.substr(1, text.find(' ')).find('/') != std::string_view::npos;
    std::string_view word = text.substr(0, run_length(text, is_path_char));
    while (word.ends_with(':') || word.ends_with('.')) word.remove_suffix(1);
    return is_file(word) && word.find_first_of("/\\") != std::string_view::npos;
}

/// Names of folders and files may hold blanks: how far a path goes on behind one.
std::size_t length_behind_blank(std::string_view text) {
    constexpr std::size_t most_words = 6; ///< until the next slash
    constexpr std::string_view marks = "()[]&',";
    const auto of_name = [&](char c) { return is_path_char(c) || marks.find(c) != std::string_view::npos; };
    std::size_t length = 0, taken = 0;
    for (std::size_t words = 0; words < most_words && taken < text.size() && text[taken] == ' '; ++words) {
        const std::string_view rest = text.substr(taken + 1);
        const std::size_t word = run_length(rest, of_name);
        const bool dash = word == 1 && rest[0] == '-'; // "Jo - work"
        const bool another = word == 0 ||
                             (!dash && std::string_view("/\\-~.").find(rest[0]) != std::string_view::npos) ||
                             rest.substr(0, word).find(':') != std::string_view::npos; // a drive, an address
        if (another) break;
        std::string_view name = rest.substr(0, word);
        while (!name.empty() && (marks.find(name.back()) != std::string_view::npos)) name.remove_suffix(1);
        const bool counted = run_length(name, [](char c) { return is_digit(c) || c == '/'; }) == name.size(); // "33/33"
        const bool path = !counted && std::ranges::any_of(name, is_slash);
        if (path || is_file(name)) length = taken + 1 + name.size(), words = 0;
        taken += 1 + word;
    }
    return length;
}

/// Whether the path ends with the name of a home's folder, which is its user's.
bool is_home(std::string_view path) {
    std::string_view folder = path.substr(0, path.find_last_of("/\\"));
    while (!folder.empty() && is_slash(folder.back())) folder.remove_suffix(1); // "C:\\\\Users", escaped
    const std::string parent = lower(log_text::file_name(folder));
    return parent == "home" || parent == "users";
}

} // namespace

std::size_t surname_length(std::string_view behind) {
    if (behind.size() < 2 || behind[0] != ' ' || behind[1] < 'A' || behind[1] > 'Z') return 0;
    return 1 + run_length(behind.substr(1), [](char c) { return is_word_char(c) || (c & '\x80') != 0; });
}

namespace {

/// The last part says what file it is; of a home it is the user's name.
std::string shown_path(std::string_view path) {
    const std::size_t slash = path.find_last_of("/\\");
    const std::string_view folder = path.substr(0, slash);
    const std::string_view last = log_text::file_name(path);
    const bool named = last.empty() || is_home(path) || folder == "\\";
    return named ? "PATH" : "PATH/" + std::string(last);
}

PrivateWord path(std::string_view text, std::string_view before) {
    if (!starts_path(text)) return {};
    const char quote = before.empty() ? ' ' : before.back();
    const std::size_t close = quote == '"' || quote == '\'' ? text.find(quote) : std::string_view::npos;
    std::size_t length = run_length(text, is_path_char);
    if (close != std::string_view::npos)
        length = close;
    else if (!is_file(text.substr(0, length)))
        length += length_behind_blank(text.substr(length));
    if (is_home(text.substr(0, length))) length += surname_length(text.substr(length));
    while (length > 1 && (text[length - 1] == ':' || text[length - 1] == '.')) --length;
    return {length, shown_path(text.substr(0, length))};
}

} // namespace

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// "curl -u jo:secret".
PrivateWord login(std::string_view text, std::string_view before) {
    if (!before.ends_with(" -u ") || before.find("curl") == std::string_view::npos) return {};
    const std::size_t length = run_length(text, [](char c) { return c != ' '; });
    return text.substr(0, length).find(':') == std::string_view::npos ? PrivateWord{} : PrivateWord{length, "USER:KEY"};
}

PrivateWord private_word(std::string_view text, std::string_view before) {
    for (const PrivateWord& found :
         {login(text, before), key(text), unique_id(text), ip4(text, before), colon_address(text), url(text),
          rpc_device(text), user_at_host(text), host_name(text), path(text, before)}) {
        if (found.length > 0) return found;
    }
    return {};
}

} // namespace vramfit
