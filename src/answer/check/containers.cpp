#include "found_deployment.hpp"
#include "yaml_subset.hpp"

#include "answer/deployment/command_words.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"

#include <map>

namespace vramfit {
namespace {

using Kind = YamlNode::Kind;
using Variables = std::map<std::string, std::string, std::less<>>;

/// "line 7: ..." of the YAML reader becomes "compose.yaml:7: ...".
std::shared_ptr<const YamlNode> parsed(std::string_view text, const std::string& file) {
    try {
        return parse_yaml(text);
    } catch (const Error& error) {
        std::string message = error.what();
        constexpr std::string_view line = "line ";
        if (message.starts_with(line)) throw Error(file + ":" + message.substr(line.size()));
        throw Error(file + ": " + message);
    }
}

/// A command as a text or as a list of words.
std::vector<std::string> words_of(const YamlNode* node, const Environment& environment) {
    std::vector<std::string> words;
    if (node == nullptr) return words;
    if (node->kind == Kind::scalar) return shell_words(expanded(node->text, environment));
    for (const auto& item : node->items)
        if (item->kind == Kind::scalar) words.push_back(expanded(item->text, environment));
    return words;
}

/// Variables as a mapping or as a list of "A=B".
Variables variables_of(const YamlNode* node, const Environment& environment) {
    Variables variables;
    if (node == nullptr) return variables;
    for (const auto& [name, value] : node->all_entries())
        if (value->kind == Kind::scalar) variables[name] = expanded(value->text, environment);
    for (const auto& item : node->items) {
        if (item->kind != Kind::scalar) continue;
        if (auto said = assignment(expanded(item->text, environment))) variables[said->first] = said->second;
    }
    return variables;
}

Environment environment_of(Variables variables) {
    return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

/// Of a map's own entries, those that are maps themselves.
std::vector<std::pair<std::string, const YamlNode*>> maps_under(const YamlNode& root, std::string_view key) {
    std::vector<std::pair<std::string, const YamlNode*>> maps;
    const YamlNode* const all = root.find(key);
    if (all == nullptr) return maps;
    for (const auto& [name, value] : all->entries)
        if (value->kind == Kind::map) maps.emplace_back(name, value.get());
    return maps;
}

std::size_t line_of(const YamlNode& map, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys)
        if (const YamlNode* const node = map.find(key); node != nullptr && node->line > 0) return node->line;
    return map.line;
}

/// llama-swap leaves out lines that begin with '#' (docs/configuration.md).
std::string without_comment_lines(const std::string& text) {
    std::string result;
    for (const FileLine& line : file_lines(text))
        if (!trimmed(line.text).starts_with('#')) result += std::string(line.text) + "\n";
    return result;
}

/// What a service extends: the name of one in the same file, or why that is not read.
struct Extended {
    std::string service;
    std::string error;
};

Extended extended_by(const YamlNode& service) {
    const YamlNode* const extends = service.find("extends");
    if (extends == nullptr) return {};
    if (extends->kind == Kind::scalar) return {extends->text, ""};
    if (const std::string file = extends->text_of("file"); !file.empty())
        return {"", "it extends a service of " + quote(file) + ", which is not read"};
    return {extends->text_of("service"), ""};
}

/// The service and those that it extends, the last one first.
std::vector<const YamlNode*> with_bases(const YamlNode& service, const YamlNode* services, std::string& error) {
    constexpr std::size_t most = 10; // of one another
    std::vector<const YamlNode*> chain{&service};
    while (services != nullptr && chain.size() < most) {
        const Extended extended = extended_by(*chain.front());
        error = extended.error;
        const YamlNode* const base = extended.service.empty() ? nullptr : services->find(extended.service);
        if (base == nullptr) break;
        chain.insert(chain.begin(), base);
    }
    return chain;
}

/// Its own value of a key, else that of the nearest one that it extends.
const YamlNode* value_in(const std::vector<const YamlNode*>& chain, std::string_view key) {
    for (std::size_t i = chain.size(); i-- > 0;)
        if (const YamlNode* const found = chain[i]->find(key)) return found;
    return nullptr;
}

/// Entrypoint and command of a compose file's service, or its image's.
std::vector<std::string> words_of_service(const std::vector<const YamlNode*>& service, const Environment& environment) {
    std::vector<std::string> words = words_of(value_in(service, "entrypoint"), environment);
    const std::vector<std::string> command = words_of(value_in(service, "command"), environment);
    const YamlNode* const image = value_in(service, "image");
    const std::string name = image != nullptr && image->kind == Kind::scalar ? image->text : "";
    if (words.empty()) return command_of_image(expanded(name, environment), command);
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

} // namespace

FoundDeployments in_compose(std::string_view text, const std::string& file, const Environment& environment) {
    FoundDeployments found;
    const auto root = parsed(text, file);
    for (const auto& [name, service] : maps_under(*root, "services")) {
        FoundDeployment deployment;
        std::vector<std::string> words;
        const std::vector<const YamlNode*> chain = with_bases(*service, root->find("services"), deployment.error);
        try {
            words = words_of_service(chain, environment);
            if (has_runtime_command(words)) deployment.error.clear();
        } catch (const Error& error) { // that service's alone
            deployment.error = error.what();
        }
        if (deployment.error.empty() && !has_runtime_command(words)) continue;
        deployment.name = name;
        deployment.line = line_of(*service, {"command", "entrypoint", "image", "extends"});
        deployment.text.command = std::move(words);
        Variables variables;
        for (const YamlNode* const one : chain)
            for (auto& [key, value] : variables_of(one->find("environment"), environment)) variables[key] = value;
        deployment.text.environment = environment_of(std::move(variables));
        deployment.text.where = place(file, deployment.line);
        if (service->find("env_file") != nullptr)
            deployment.notes.emplace_back("env_file is not read: its variables do not count");
        found.push_back(std::move(deployment));
    }
    return found;
}

FoundDeployments in_llama_swap(std::string_view text, const std::string& file, const Environment& environment) {
    FoundDeployments found;
    const auto root = parsed(text, file);
    Variables macros = variables_of(root->find("macros"), empty_environment());
    macros.emplace("PORT", "5800"); // llama-swap's own startPort
    for (const auto& [name, model] : maps_under(*root, "models")) {
        const YamlNode* const cmd = model->find("cmd");
        if (cmd == nullptr) throw Error(place(file, model->line) + "the model " + quote(name) + " has no cmd");
        Variables own = macros;
        for (auto& [key, value] : variables_of(model->find("macros"), empty_environment())) own[key] = value;
        own["MODEL_ID"] = name;
        const Environment known = [&](std::string_view variable) -> std::optional<std::string> {
            if (const auto macro = own.find(variable); macro != own.end()) return macro->second;
            return variable.starts_with("env.") ? environment(variable.substr(4)) : std::nullopt;
        };
        // A macro may hold others.
        std::string command = without_comment_lines(cmd->text);
        for (int i = 0; i < 4 && command.size() < 65536; ++i) command = expanded(command, known);
        FoundDeployment deployment;
        deployment.name = name;
        deployment.line = cmd->line;
        deployment.text.where = place(file, deployment.line);
        set_command(deployment, command);
        deployment.text.environment = environment_of(variables_of(model->find("env"), environment));
        found.push_back(std::move(deployment));
    }
    return found;
}

} // namespace vramfit
