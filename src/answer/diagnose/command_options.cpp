#include "command_options.hpp"

#include "answer/deployment/command_reader.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/shell_words.hpp"

#include <algorithm>

namespace vramfit {
namespace {

// A log's line may be of any length, and each word of it a flag.
constexpr std::size_t most_bytes = 8000;
constexpr std::size_t most_words = 256;
constexpr std::size_t most_value = 2000; // a longer one is passed over: half of it would be another

/// Where logs and texts around a command end it: `cmd="... --port 1234"`, "`llama-server -c 8192`, ...".
constexpr std::string_view ends = "\"`,;";

const CommandTable& table_of(std::string_view runtime) {
    const auto is_of = [&](const CommandTable& table) { return table.programs.front().runtime == runtime; };
    return *std::ranges::find_if(command_tables(), is_of);
}

/// A quote that is not closed goes on in the next line, or has been cut off.
std::vector<std::string> words_of(std::string_view text) {
    for (const char* const closing : {"", "\"", "'"}) {
        try {
            return shell_words(std::string(text) + closing);
        } catch (const Error&) {
            continue;
        }
    }
    return {};
}

} // namespace

CommandOptions command_options(std::string_view runtime, std::string_view text) {
    std::vector<std::string> words = words_of(text.substr(0, most_bytes));
    const auto first = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
    words.erase(words.begin(), first);
    if (words.size() > most_words) words.resize(most_words);
    for (std::string& word : words) word.resize(word.find_last_not_of(ends) + 1);

    const CommandTable& table = table_of(runtime);
    RuntimeCommand command;
    command.table = &table;
    command.program = &table.programs.front();
    command.arguments = std::move(words);
    CommandOptions options;
    for (const ReadSetting& read : read_arguments(command, "", Mistakes::pass_over).settings) {
        const auto& [setting, value, where] = read.said;
        std::string& said = options[setting];
        const std::string added = (adds_up(setting) && !said.empty() ? said + "," : "") + value;
        if (value.size() <= most_value && added.size() <= most_bytes) said = added;
    }
    return options;
}

} // namespace vramfit
