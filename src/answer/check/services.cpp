#include "found_deployment.hpp"

#include "answer/deployment/command_words.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace vramfit {
namespace {

/// "[name]", or nothing.
std::optional<std::string> section_of(std::string_view line) {
    if (!line.starts_with('[') || !line.ends_with(']')) return std::nullopt;
    return std::string(line.substr(1, line.size() - 2));
}

bool is_comment(std::string_view line) { return line.empty() || line.front() == '#' || line.front() == ';'; }

/// "key = value".
std::optional<std::pair<std::string, std::string>> entry_of(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    return std::pair(std::string(trimmed(line.substr(0, equals))), std::string(trimmed(line.substr(equals + 1))));
}

/// The lines with those joined that a backslash continues, under the number of the first.
std::vector<std::pair<std::string, std::size_t>> joined_lines(std::string_view text) {
    std::vector<std::pair<std::string, std::size_t>> lines;
    bool goes_on = false;
    for (const FileLine& line : file_lines(text)) {
        std::string_view content = trimmed(line.text);
        if (goes_on && is_comment(content) && !content.empty()) continue; // systemd.syntax(7)
        const bool continued = content.ends_with('\\');
        if (continued) content.remove_suffix(1);
        if (goes_on)
            lines.back().first += " " + std::string(content);
        else
            lines.emplace_back(std::string(content), line.number);
        goes_on = continued;
    }
    return lines;
}

struct Section {
    std::string name;
    std::size_t line = 0;
    std::vector<std::pair<std::string, std::string>> keys;
};

/// A setting that an earlier section has for all of them.
std::vector<std::pair<std::string, std::string>> with_defaults(const Section& all, const Section& own) {
    auto keys = all.keys;
    keys.insert(keys.end(), own.keys.begin(), own.keys.end());
    return keys;
}

// Keys of a preset that are the router's own (tools/server/README.md, model presets).
constexpr std::array<std::string_view, 3> router_keys{"version", "load-on-startup", "stop-timeout"};

/// By any key that llama-server has for the model, whether its value is understood or not.
bool names_model(const Section& section) {
    const std::optional<CommandTable> table = command_table_of("llama.cpp");
    return std::ranges::any_of(section.keys, [&](const auto& entry) {
        return std::ranges::any_of(table->find_key(entry.first),
                                   [](const CommandOption* option) { return option->setting == "model"; });
    });
}

} // namespace

FoundDeployments in_unit(std::string_view text, const std::string& file) {
    FoundDeployments found;
    std::map<std::string, std::string, std::less<>> variables;
    std::vector<std::string> notes;
    std::string section;
    std::vector<std::pair<std::string, std::size_t>> commands;
    for (const auto& [line, number] : joined_lines(text)) {
        if (is_comment(line)) continue;
        if (auto name = section_of(line)) {
            section = *name;
            continue;
        }
        const auto entry = entry_of(line);
        if (!entry || section != "Service") continue;
        if (entry->first == "Environment") {
            try {
                for (const std::string& word : shell_words(entry->second))
                    if (auto said = assignment(word)) variables[said->first] = said->second;
            } catch (const Error& error) {
                notes.push_back("Environment= in line " + std::to_string(number) + " does not count: " + error.what());
            }
        } else if (entry->first == "EnvironmentFile") {
            notes.emplace_back("EnvironmentFile= is not read: its variables do not count");
        } else if (entry->first == "ExecStart" && !entry->second.empty()) {
            commands.emplace_back(entry->second, number);
        }
    }
    const Environment environment = [variables](std::string_view name) -> std::optional<std::string> {
        const auto known = variables.find(name);
        return known == variables.end() ? std::nullopt : std::optional(known->second);
    };
    for (const auto& [command, number] : commands) {
        // What stands before the path says how systemd runs it (systemd.service(5)).
        const std::string plain = command.substr(std::min(command.find_first_not_of("@-:+!"), command.size()));
        FoundDeployment deployment;
        deployment.line = number;
        deployment.text.where = place(file, number);
        set_command(deployment, expanded(plain, environment));
        deployment.text.environment = environment;
        deployment.notes = notes;
        if (!deployment.error.empty() || has_runtime_command(deployment.text.command))
            found.push_back(std::move(deployment));
    }
    return found;
}

FoundDeployments in_preset(std::string_view text, const std::string& file) {
    FoundDeployments found;
    Section all; // "[*]", and what stands before the first section
    std::vector<Section> sections;
    Section* current = &all;
    for (const FileLine& line : file_lines(text)) {
        const std::string_view content = trimmed(line.text);
        if (is_comment(content)) continue;
        if (auto name = section_of(content)) {
            current = *name == "*" ? &all : &sections.emplace_back(Section{*name, line.number, {}});
            continue;
        }
        auto entry = entry_of(content);
        if (!entry)
            throw Error(place(file, line.number) + "a [section] or KEY = VALUE would be right, not " + quote(content));
        if (std::ranges::find(router_keys, entry->first) == router_keys.end())
            current->keys.push_back(*std::move(entry));
    }
    for (const Section& section : sections) {
        FoundDeployment deployment;
        deployment.name = section.name;
        deployment.line = section.line;
        deployment.text.where = place(file, section.line);
        deployment.text.command = {"llama-server"};
        deployment.text.keys = with_defaults(all, section);
        // A section without a model is named after one (tools/server/README.md).
        if (!names_model(section)) deployment.text.keys.emplace_back("hf", section.name);
        found.push_back(std::move(deployment));
    }
    return found;
}

} // namespace vramfit
