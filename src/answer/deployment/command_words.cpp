#include "command_words.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace vramfit {
namespace {

using Json = nlohmann::json;
using Words = std::span<const std::string>;

constexpr std::size_t most_words_before = 40; // of a wrapper and its options
constexpr int most_shells = 4;                // in one another

const Json& around() {
    static const Json parsed = Json::parse(embedded::file("command_lines/around.json").value());
    return parsed;
}

bool lists(const Json& array, std::string_view text) {
    return std::ranges::any_of(array, [&](const Json& item) { return item.get_ref<const std::string&>() == text; });
}

/// "llama-server" of "/usr/bin/llama-server" and "C:\llama\llama-server.exe".
std::string program_name(std::string_view word) {
    if (const auto slash = word.find_last_of("/\\"); slash != std::string_view::npos) word.remove_prefix(slash + 1);
    if (lower(word).ends_with(".exe")) word.remove_suffix(4);
    return std::string(word);
}

/// The words that follow the program's name are its own: {"run"} of "ollama run".
bool begins_with(Words rest, const std::vector<std::string>& words) {
    return rest.size() >= words.size() && std::equal(words.begin(), words.end(), rest.begin());
}

const CommandProgram* program_at(const CommandTable& table, Words words) {
    const std::string name = program_name(words.front());
    for (const CommandProgram& program : table.programs) {
        const bool named = std::ranges::find(program.names, name) != program.names.end();
        if (named && begins_with(words.subspan(1), program.words)) return &program;
    }
    return nullptr;
}

std::optional<RuntimeCommand> command_at(const std::vector<CommandTable>& tables, Words words) {
    for (const CommandTable& table : tables) {
        const CommandProgram* const program = program_at(table, words);
        if (program == nullptr) continue;
        const Words arguments = words.subspan(1 + program->words.size());
        RuntimeCommand found;
        found.table = &table;
        found.program = program;
        found.name = words.front();
        found.arguments = {arguments.begin(), arguments.end()};
        return found;
    }
    return std::nullopt;
}

/// The names in "A,B".
void add_names(std::vector<std::string>& names, std::string_view text) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        names.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// What one word behind `env` keeps from the command (env(1)). `next`: the word behind it.
void narrow_by_env(RuntimeCommand& command, const std::string& word, const std::string& next) {
    constexpr std::string_view unset = "--unset=";
    if (word == "-i" || word == "-" || word == "--ignore-environment") command.inherits = false;
    if (word == "-u") command.removed.push_back(next);
    if (word.starts_with(unset)) command.removed.push_back(word.substr(unset.size()));
}

/// What `env` and `sudo` in the words before a command keep from it. `sudo` gives a new environment (sudoers(5),
/// env_reset).
void narrow(RuntimeCommand& command, Words before) {
    constexpr std::string_view preserve = "--preserve-env=";
    std::string by;
    bool resets = false;
    for (std::size_t i = 0; i < before.size(); ++i) {
        const std::string& word = before[i];
        if (const std::string name = program_name(word); name == "env" || name == "sudo") {
            by = name;
            resets = resets || name == "sudo";
        } else if (by == "env") {
            narrow_by_env(command, word, i + 1 < before.size() ? before[i + 1] : "");
        } else if (by == "sudo") {
            if (word == "-E" || word == "--preserve-env") resets = false;
            if (word.starts_with(preserve)) add_names(command.passed, std::string_view(word).substr(preserve.size()));
        }
    }
    if (resets) command.inherits = false;
}

class Search {
public:
    std::optional<RuntimeCommand> find(Words words, int depth = 0) const {
        std::vector<std::pair<std::string, std::string>> assignments;
        for (std::size_t i = 0; i < std::min(words.size(), most_words_before); ++i) {
            const Words rest = words.subspan(i);
            auto found = command_at(tables_, rest);
            if (!found && depth < most_shells) found = in_shell(rest, depth);
            if (!found && depth < most_shells) found = in_container(rest, depth);
            if (found) {
                found->assignments.insert(found->assignments.begin(), assignments.begin(), assignments.end());
                narrow(*found, words.first(i));
                return found;
            }
            if (auto said = assignment(words[i])) assignments.push_back(std::move(*said));
        }
        return std::nullopt;
    }

private:
    /// `sh -c 'cd /x && exec llama-server ...'`: the first command in it that is a runtime's.
    std::optional<RuntimeCommand> in_shell(Words words, int depth) const {
        if (!lists(around().at("shells"), program_name(words.front()))) return std::nullopt;
        const auto flag = std::ranges::find_if(words, [](const std::string& word) {
            return word.size() >= 2 && word.front() == '-' && word[1] != '-' && word.ends_with('c');
        });
        if (flag == words.end() || flag + 1 == words.end()) return std::nullopt;
        for (const auto& command : shell_commands(*(flag + 1))) {
            if (auto found = find(command, depth + 1)) return found;
        }
        return std::nullopt;
    }

    /// `docker run -e A=B --gpus all IMAGE ARGUMENTS`.
    std::optional<RuntimeCommand> in_container(Words words, int depth) const {
        const Json& containers = around().at("containers");
        if (!lists(containers.at("names"), program_name(words.front())) || words.size() < 2 ||
            words[1] != containers.at("word").get_ref<const std::string&>())
            return std::nullopt;
        std::vector<std::string> inner;
        std::vector<std::string> passed;
        std::optional<std::string> entrypoint;
        std::size_t i = 2;
        for (; i < words.size() && words[i].starts_with('-'); ++i) {
            const std::size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
            const std::string name = words[i].substr(0, equals);
            if (equals == std::string::npos && (lists(containers.at("switches"), name) || i + 1 == words.size()))
                continue;
            const std::string value = equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
            if (lists(containers.at("env"), name)) (assignment(value) ? inner : passed).push_back(value);
            if (lists(containers.at("entrypoint"), name)) entrypoint = value;
        }
        if (i >= words.size()) return std::nullopt;
        const Words arguments = words.subspan(i + 1);
        if (entrypoint) inner.push_back(*entrypoint);
        const auto command = entrypoint ? std::vector<std::string>(arguments.begin(), arguments.end())
                                        : command_of_image(words[i], arguments);
        inner.insert(inner.end(), command.begin(), command.end());
        auto found = find(inner, depth + 1);
        if (found) {
            found->inherits = false;
            found->passed = std::move(passed);
        }
        return found;
    }

    const std::vector<CommandTable>& tables_ = command_tables();
};

} // namespace

std::optional<std::pair<std::string, std::string>> assignment(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const std::string_view name = text.substr(0, equals);
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::ranges::all_of(name, fits) || (name.front() >= '0' && name.front() <= '9')) return std::nullopt;
    return std::pair(std::string(name), std::string(text.substr(equals + 1)));
}

bool RuntimeCommand::sees(std::string_view variable) const {
    const auto is_among = [&](const std::vector<std::string>& names) {
        return std::ranges::find(names, variable) != names.end();
    };
    return is_among(passed) || (inherits && !is_among(removed));
}

std::optional<RuntimeCommand> find_runtime_command(Words words) { return Search().find(words); }

std::vector<std::string> command_of_image(std::string_view image, Words arguments) {
    std::vector<std::string> command(arguments.begin(), arguments.end());
    if (!command.empty() && command_at(command_tables(), arguments)) return command;
    for (const Json& entry : around().at("images")) {
        const std::size_t slash = image.find_last_of('/');
        const std::size_t colon = image.find(':', slash == std::string_view::npos ? 0 : slash);
        const std::string_view tag = colon == std::string_view::npos ? "" : image.substr(colon + 1);
        if (!image.substr(0, colon).ends_with(entry.at("image").get_ref<const std::string&>())) continue;
        if (!tag.starts_with(entry.at("tag").get_ref<const std::string&>())) continue;
        const char* const which = arguments.empty() && entry.contains("alone") ? "alone" : "command";
        const auto start = entry.at(which).get<std::vector<std::string>>();
        command.insert(command.begin(), start.begin(), start.end());
        break;
    }
    return command;
}

std::string known_programs() {
    std::vector<std::string> names;
    for (const CommandTable& table : command_tables()) {
        const CommandProgram& program = table.programs.front();
        std::string name = program.names.front();
        for (const std::string& word : program.words) name += ' ' + word;
        names.push_back(std::move(name));
    }
    return enumerated(names, "and");
}

} // namespace vramfit
