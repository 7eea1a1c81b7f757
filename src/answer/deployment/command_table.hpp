#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// How a runtime is told its settings: the flags of its command line, the variables of its environment and the keys of
/// its files. A table is a file of data/command_lines/, where each names its source.

/// A setting of a runtime, or something that it can be told and that is none of ours.
struct CommandOption {
    enum class Effect : std::uint8_t { setting, harmless, not_understood };
    enum class Takes : std::uint8_t { nothing, value, maybe, several }; ///< words behind the flag

    Effect effect = Effect::setting;
    Takes takes = Takes::value;
    std::string setting;                ///< settings_text.hpp's name, or "fit"
    std::vector<std::string> flags;     ///< every spelling
    std::vector<std::string> off;       ///< spellings of the opposite, of what is on or off
    std::vector<std::string> variables; ///< of the environment
    std::vector<std::string> off_variables;
    std::vector<std::string> keys; ///< in its files, beside its flags and variables
    std::string implied;           ///< the text of a flag without a value; empty: "on"
    std::string bare;              ///< what is to be known of the flag where it has no value
    std::string names;             ///< of a model: what kind of name it is, see published_model.hpp
    /// "whole": no letters behind it; "digits": with letters it is not read; "decimal": k is 1000, K is 1024.
    std::string number;
    std::string unit;                                      ///< put behind the number
    std::string separator;                                 ///< between several values in one
    std::map<std::string, std::string, std::less<>> words; ///< the runtime's word and ours; "": as if it were not there
    bool other_words = true;                               ///< words that are not in the table go through as they are
    /// Of settings that are not said, where this one has that word.
    std::map<std::string, std::map<std::string, std::string>, std::less<>> defaults;
};

/// A program and the profile of data/runtimes.json that it is.
struct CommandProgram {
    std::vector<std::string> names;
    std::vector<std::string> words; ///< that stand behind it: {"run"}
    std::string runtime;
    std::string positional; ///< the setting that the first word is which belongs to no flag
};

struct CommandTable {
    std::vector<CommandProgram> programs;
    std::map<std::string, std::string> defaults; ///< settings that the program has where nobody says anything
    std::vector<CommandOption> options;

    /// What the flag may mean: several settings at once, or nothing. A long flag may have `_` for `-`.
    std::vector<const CommandOption*> find_flag(std::string_view flag) const;

    /// The same for a key of a file: "num_ctx", "ctx-size", "c", "LLAMA_ARG_CTX_SIZE".
    std::vector<const CommandOption*> find_key(std::string_view key) const;

    /// Every flag, for messages about a mistyped one.
    std::vector<std::string_view> flags() const;

    /// By each spelling of a flag: where in `options` it stands.
    std::map<std::string, std::vector<std::size_t>, std::less<>> by_flag;
};

/// The table of the text of such a file. Throws Error for one that is none.
CommandTable parse_command_table(std::string_view text);

/// The tables of all runtimes.
const std::vector<CommandTable>& command_tables();

/// The table of a runtime by its id in data/runtimes.json; nothing where it has none.
std::optional<CommandTable> command_table_of(std::string_view runtime);

} // namespace vramfit
