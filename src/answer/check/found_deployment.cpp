#include "found_deployment.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>

namespace vramfit {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// The value of "NAME", "NAME:-default" or "NAME-default" between braces.
std::optional<std::string> value_of(std::string_view inside, const Environment& environment) {
    const std::size_t end = std::min(inside.find_first_of(":-?+"), inside.size());
    auto value = environment(inside.substr(0, end));
    std::string_view rest = inside.substr(end);
    const bool empty_counts = !rest.starts_with(':');
    if (!empty_counts) rest.remove_prefix(1);
    if (value && (empty_counts || !value->empty())) return value;
    if (rest.starts_with('-')) return std::string(rest.substr(1));
    return value;
}

bool any_line(std::string_view text, auto test) {
    const auto lines = file_lines(text);
    return std::ranges::any_of(lines, [&](const FileLine& line) { return test(line.text); });
}

enum class FileKind : std::uint8_t { manifest, compose, llama_swap, unit, preset, modelfile, script };

bool has_top_key(std::string_view text, std::string_view key) {
    return any_line(
        text, [&](std::string_view line) { return line.starts_with(key) && line.substr(key.size()).starts_with(':'); });
}

FileKind kind_of_text(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return FileKind::script;
    if (text[first] == '{') return FileKind::manifest;
    if (has_top_key(text, "services")) return FileKind::compose;
    if (has_top_key(text, "models")) return FileKind::llama_swap;
    if (any_line(text, [](std::string_view line) { return trimmed(line) == "[Service]"; })) return FileKind::unit;
    // A section's name stands alone in its line; a list of JSON goes on.
    if (any_line(text, [](std::string_view line) {
            const std::string_view content = trimmed(line);
            return content.size() > 2 && content.front() == '[' && content.back() == ']' && content[1] != '{' &&
                   content[1] != '"';
        }))
        return FileKind::preset;
    if (text[first] == '[') return FileKind::manifest;
    const bool has_from = any_line(text, [](std::string_view line) { return lower(line).starts_with("from "); });
    const bool builds = any_line(text, [](std::string_view line) { return lower(line).starts_with("run "); });
    return has_from && !builds ? FileKind::modelfile : FileKind::script;
}

FileKind kind_of(std::string_view text, const std::string& file) {
    const std::string name = lower(file.substr(std::min(file.find_last_of("/\\") + 1, file.size())));
    if (name.starts_with("modelfile") || name.ends_with(".modelfile")) return FileKind::modelfile;
    if (name.ends_with(".service")) return FileKind::unit;
    if (name.ends_with(".ini")) return FileKind::preset;
    if (name.ends_with(".json") || name.ends_with(".jsonl")) return FileKind::manifest;
    if (name.ends_with(".sh")) return FileKind::script;
    return kind_of_text(text);
}

} // namespace

std::string expanded(std::string_view text, const Environment& environment) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '$' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        const char next = text[i + 1];
        if (next == '$') {
            result += '$';
            ++i;
            continue;
        }
        const bool braces = next == '{';
        const std::size_t from = braces ? i + 2 : i + 1;
        std::size_t end = from;
        while (end < text.size() && (braces ? text[end] != '}' : is_name(text[end]))) ++end;
        const bool closed = end > from && (!braces || end < text.size());
        const auto value = closed ? value_of(text.substr(from, end - from), environment) : std::nullopt;
        if (!value) {
            result += '$';
            continue;
        }
        result += *value;
        i = braces ? end : end - 1;
    }
    return result;
}

void set_command(FoundDeployment& deployment, const std::string& command) {
    try {
        deployment.text.command = shell_words(command);
    } catch (const Error& error) {
        deployment.error = error.what();
    }
}

std::vector<FileLine> file_lines(std::string_view text) {
    std::vector<FileLine> lines;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.push_back({line, ++number});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string place(const std::string& file, std::size_t line) { return file + ":" + std::to_string(line) + ": "; }

FoundDeployments find_deployments(std::string_view text, const std::string& file, const Environment& environment) {
    switch (kind_of(text, file)) {
    case FileKind::manifest: return in_manifest(text, file);
    case FileKind::compose: return in_compose(text, file, environment);
    case FileKind::llama_swap: return in_llama_swap(text, file, environment);
    case FileKind::unit: return in_unit(text, file);
    case FileKind::preset: return in_preset(text, file);
    case FileKind::modelfile: return in_modelfile(text, file);
    case FileKind::script: break;
    }
    return in_script(text, file);
}

} // namespace vramfit
