#include "command_table.hpp"

#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace vramfit {
namespace {

using Json = nlohmann::json;
using Effect = CommandOption::Effect;
using Takes = CommandOption::Takes;

constexpr std::string_view folder = "command_lines/";
constexpr std::string_view around = "command_lines/around.json"; // what stands around a command, and no runtime's

constexpr std::array<std::pair<std::string_view, Takes>, 4> kinds{
    {{"nothing", Takes::nothing}, {"value", Takes::value}, {"maybe", Takes::maybe}, {"several", Takes::several}}};

std::vector<std::string> texts_at(const Json& entry, const char* key) {
    return entry.contains(key) ? entry.at(key).get<std::vector<std::string>>() : std::vector<std::string>{};
}

Takes takes_of(const std::string& word) {
    const auto found = std::ranges::find(kinds, word, &std::pair<std::string_view, Takes>::first);
    if (found == kinds.end()) throw Error("command_lines: unknown kind of flag " + word);
    return found->second;
}

CommandOption option_of(const Json& entry) {
    CommandOption option;
    option.setting = entry.at("option");
    option.takes = takes_of(entry.value("takes", "value"));
    option.flags = texts_at(entry, "flags");
    option.off = texts_at(entry, "off");
    option.variables = texts_at(entry, "env");
    option.off_variables = texts_at(entry, "env_off");
    option.keys = texts_at(entry, "keys");
    option.implied = entry.value("implied", "");
    option.bare = entry.value("bare", "");
    option.names = entry.value("names", "");
    option.number = entry.value("number", "");
    option.unit = entry.value("unit", "");
    option.separator = entry.value("split", "");
    option.other_words = entry.value("others", "") != "not_understood";
    if (entry.contains("words")) entry.at("words").get_to(option.words);
    if (entry.contains("defaults")) entry.at("defaults").get_to(option.defaults);
    return option;
}

std::vector<std::string> words_of(const Json& lines) {
    std::vector<std::string> words;
    for (const Json& line : lines) {
        const auto& text = line.get_ref<const std::string&>();
        for (std::string_view rest = text; !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            words.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return words;
}

/// The flags that are no setting, by what stands behind them.
void add_others(CommandTable& table, const Json& document, const char* key, Effect effect) {
    if (!document.contains(key)) return;
    for (const auto& [kind, lines] : document.at(key).items()) {
        CommandOption option;
        option.effect = effect;
        if (kind == "keys") {
            option.keys = words_of(lines);
        } else {
            option.takes = takes_of(kind);
            option.flags = words_of(lines);
        }
        table.options.push_back(std::move(option));
    }
}

bool has(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

void index_flags(CommandTable& table) {
    for (std::size_t i = 0; i < table.options.size(); ++i) {
        for (const auto* const spellings : {&table.options[i].flags, &table.options[i].off}) {
            for (const std::string& spelling : *spellings) table.by_flag[spelling].push_back(i);
        }
    }
}

bool is_of(const CommandTable& table, std::string_view runtime) {
    return std::ranges::any_of(table.programs, [&](const auto& program) { return program.runtime == runtime; });
}

} // namespace

std::vector<const CommandOption*> CommandTable::find_flag(std::string_view flag) const {
    std::string with_dashes(flag);
    if (flag.starts_with("--")) std::ranges::replace(with_dashes, '_', '-');
    std::set<std::size_t> places;
    for (const std::string_view spelling : {flag, std::string_view(with_dashes)}) {
        if (const auto known = by_flag.find(spelling); known != by_flag.end())
            places.insert(known->second.begin(), known->second.end());
    }
    std::vector<const CommandOption*> found;
    found.reserve(places.size());
    for (const std::size_t place : places) found.push_back(&options[place]);
    return found;
}

std::vector<const CommandOption*> CommandTable::find_key(std::string_view key) const {
    std::vector<const CommandOption*> found;
    for (const CommandOption& option : options) {
        if (has(option.keys, key) || has(option.variables, key) || has(option.off_variables, key))
            found.push_back(&option);
    }
    if (!found.empty()) return found;
    found = find_flag("--" + std::string(key));
    return found.empty() ? find_flag("-" + std::string(key)) : found;
}

std::vector<std::string_view> CommandTable::flags() const {
    std::vector<std::string_view> all;
    for (const CommandOption& option : options) {
        all.insert(all.end(), option.flags.begin(), option.flags.end());
        all.insert(all.end(), option.off.begin(), option.off.end());
    }
    return all;
}

CommandTable parse_command_table(std::string_view text) {
    try {
        const Json document = Json::parse(text);
        CommandTable table;
        for (const Json& entry : document.at("programs"))
            table.programs.push_back({entry.at("names").get<std::vector<std::string>>(), texts_at(entry, "words"),
                                      entry.at("runtime"), entry.value("positional", "")});
        if (document.contains("defaults")) document.at("defaults").get_to(table.defaults);
        for (const Json& entry : document.at("options")) table.options.push_back(option_of(entry));
        add_others(table, document, "harmless", Effect::harmless);
        add_others(table, document, "not_understood", Effect::not_understood);
        index_flags(table);
        return table;
    } catch (const Json::exception& e) {
        throw Error(std::string("command_lines: ") + e.what());
    }
}

const std::vector<CommandTable>& command_tables() {
    static const std::vector<CommandTable> tables = [] {
        std::vector<CommandTable> all;
        for (const std::string_view path : embedded::files()) {
            if (path.starts_with(folder) && path != around) all.push_back(parse_command_table(*embedded::file(path)));
        }
        return all;
    }();
    return tables;
}

std::optional<CommandTable> command_table_of(std::string_view runtime) {
    // Most tables have their runtime's name: only a runtime that shares one has to be looked for.
    if (const auto text = embedded::file(std::string(folder) + std::string(runtime) + ".json"))
        return parse_command_table(*text);
    for (const CommandTable& table : command_tables()) {
        if (is_of(table, runtime)) return table;
    }
    return std::nullopt;
}

} // namespace vramfit
