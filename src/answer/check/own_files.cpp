#include "found_deployment.hpp"

#include "answer/deployment/command_words.hpp"
#include "model/json_lines.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/shell_words.hpp"
#include "vramfit/base/text.hpp"

#include <nlohmann/json.hpp>

#include <map>

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;

/// The text of a value, as the command line would have it.
std::string text_of(const Json& value, const std::string& where) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
    if (value.is_number()) return value.dump();
    throw Error(where + " must be a text, a number, true or false");
}

void add_setting(FoundDeployment& deployment, const std::string& key, const Json& value) {
    const std::string where = deployment.text.where + key;
    if (key == "name") {
        deployment.name = text_of(value, where);
    } else if (key == "command") {
        if (value.is_array()) {
            for (const Json& word : value) deployment.text.command.push_back(text_of(word, where));
        } else {
            deployment.text.command = shell_words(text_of(value, where));
        }
    } else if (value.is_array()) {
        for (const Json& item : value) deployment.text.settings.push_back({key, text_of(item, where), where});
    } else if (!value.is_null()) {
        deployment.text.settings.push_back({key, text_of(value, where), where});
    }
}

FoundDeployment deployment_of(const Json& object, const std::string& file, std::size_t line) {
    FoundDeployment deployment;
    deployment.line = line;
    deployment.text.where = place(file, line);
    if (!object.is_object())
        throw Error(deployment.text.where + "a deployment must be an object, such as "
                                            "{\"model\": \"llama3.1-8b\", \"ctx\": 8192}");
    for (const auto& [key, value] : object.items()) add_setting(deployment, key, value);
    return deployment;
}

/// One object a line.
FoundDeployments lines_of_objects(std::string_view text, const std::string& file) {
    FoundDeployments found;
    for (const FileLine& line : file_lines(text)) {
        if (trimmed(line.text).empty()) continue;
        try {
            found.push_back(deployment_of(Json::parse(line.text), file, line.number));
        } catch (const Json::exception&) {
            throw Error(place(file, line.number) + "this is no JSON: " + quote(trimmed(line.text)));
        }
    }
    return found;
}

} // namespace

FoundDeployments in_manifest(std::string_view text, const std::string& file) {
    const Json whole = Json::parse(text, nullptr, false);
    if (whole.is_discarded()) return lines_of_objects(text, file);
    const bool wrapped = whole.is_object() && whole.contains("deployments");
    const Json& list = wrapped ? whole["deployments"] : whole;
    if (!list.is_array()) return {deployment_of(list, file, 1)};
    FoundDeployments found;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string pointer = (wrapped ? "/deployments/" : "/") + std::to_string(i);
        found.push_back(deployment_of(list[i], file, line_of(text, pointer)));
    }
    return found;
}

FoundDeployments in_modelfile(std::string_view text, const std::string& file) {
    FoundDeployment deployment;
    deployment.text.command = {"ollama", "run"};
    bool quoted = false; // inside """
    for (const FileLine& line : file_lines(text)) {
        const std::string_view content = trimmed(line.text);
        const bool was_quoted = quoted;
        for (std::size_t at = content.find("\"\"\""); at != std::string_view::npos; at = content.find("\"\"\"", at + 3))
            quoted = !quoted;
        if (was_quoted || content.empty() || content.front() == '#') continue;
        const std::size_t blank = std::min(content.find_first_of(" \t"), content.size());
        const std::string word = lower(content.substr(0, blank));
        const std::string rest(trimmed(content.substr(blank)));
        if (word == "from" && deployment.line == 0) {
            deployment.line = line.number;
            deployment.text.command.push_back(rest);
        } else if (word == "adapter") {
            deployment.text.keys.emplace_back("adapter", rest);
        } else if (word == "parameter") {
            const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
            deployment.text.keys.emplace_back(lower(rest.substr(0, end)), std::string(trimmed(rest.substr(end))));
        }
    }
    if (deployment.line == 0) throw Error(file + ": a Modelfile without a FROM line");
    deployment.text.where = place(file, deployment.line);
    return {deployment};
}

namespace {

/// Keeps "A=B", "export A=B": a command that is nothing but assignments. Whether it was one.
bool note_variables(const std::vector<std::string>& words, std::map<std::string, std::string, std::less<>>& variables) {
    const bool exported = !words.empty() && words.front() == "export";
    if (words.size() == (exported ? 1 : 0)) return false;
    for (std::size_t i = exported ? 1 : 0; i < words.size(); ++i)
        if (!assignment(words[i])) return false;
    for (std::size_t i = exported ? 1 : 0; i < words.size(); ++i) {
        auto said = assignment(words[i]);
        variables[said->first] = said->second;
    }
    return true;
}

} // namespace

namespace {

/// A text that stands behind a command up to a line of its own: `cat <<EOF`, `<<-EOF` with tabs before it.
struct HereDocument {
    std::string end;
    bool tabs = false;
};

/// Those that the command begins, in their order. Quotes hide a "<<"; "<<<" is something else.
std::vector<HereDocument> here_documents(std::string_view command) {
    std::vector<HereDocument> documents;
    char quoted = '\0';
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (quoted != '\0' || c == '\'' || c == '"') {
            if (quoted == '\0')
                quoted = c;
            else if (quoted == c)
                quoted = '\0';
            continue;
        }
        if (c == '#' && (i == 0 || command[i - 1] == ' ')) break;
        if (!command.substr(i).starts_with("<<")) continue;
        const std::size_t after = command.find_first_not_of('<', i);
        if (after == std::string_view::npos) break;
        const bool is_one = after - i == 2;
        i = after - 1;
        if (!is_one) continue;
        HereDocument document;
        document.tabs = command[after] == '-';
        const std::size_t from =
            std::min(command.find_first_not_of(" \t", after + (document.tabs ? 1 : 0)), command.size());
        const std::size_t to = std::min(command.find_first_of(" \t\n\r;&|<>()", from), command.size());
        for (const char letter : command.substr(from, to - from))
            if (letter != '\'' && letter != '"' && letter != '\\') document.end += letter;
        if (!document.end.empty()) documents.push_back(std::move(document));
        i = to == command.size() ? to : to - 1;
    }
    return documents;
}

/// Is the line the end of the document?
bool ends(const HereDocument& document, std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (document.tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    return line == document.end;
}

} // namespace

FoundDeployments in_script(std::string_view text, const std::string& file) {
    FoundDeployments found;
    // A command is cut from the text by its line and those that a backslash joins to it.
    std::string command;
    std::size_t first = 0;
    std::map<std::string, std::string, std::less<>> variables;
    const Environment environment = [&variables](std::string_view name) -> std::optional<std::string> {
        const auto known = variables.find(name);
        return known == variables.end() ? std::nullopt : std::optional(known->second);
    };
    const std::vector<FileLine> lines = file_lines(text);
    std::vector<HereDocument> inside; // whose texts come next
    for (const FileLine& line : lines) {
        if (!inside.empty()) {
            if (ends(inside.front(), line.text)) inside.erase(inside.begin());
            continue;
        }
        if (command.empty()) first = line.number;
        command += std::string(line.text) + "\n";
        std::string_view content = line.text;
        if (content.ends_with('\r')) content.remove_suffix(1);
        if (content.ends_with('\\') && &line != &lines.back()) continue;
        try {
            for (auto& words : shell_commands(command)) {
                if (note_variables(words, variables)) continue;
                for (std::string& word : words) word = expanded(word, environment);
                if (!has_runtime_command(words)) continue;
                FoundDeployment deployment;
                deployment.line = first;
                deployment.text.where = place(file, first);
                deployment.text.command = std::move(words);
                found.push_back(std::move(deployment));
            }
        } catch (const Error&) { // a quote that goes over lines: no command that could be read by itself
        }
        inside = here_documents(command);
        command.clear();
    }
    return found;
}

} // namespace vramfit
