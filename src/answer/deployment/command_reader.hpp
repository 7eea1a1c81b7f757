#pragma once

#include "command_words.hpp"

#include "vramfit/answer/settings_text.hpp"
#include "vramfit/base/environment.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vramfit {

/// A setting that a runtime was told, in the program's own words.
struct ReadSetting {
    SettingText said;
    std::string names = {}; ///< of a model: what kind of name it is (published_model.hpp)
};

/// What a command line, an environment or a file tells a runtime.
struct ReadSettings {
    std::vector<ReadSetting> settings;           ///< in their order
    std::map<std::string, std::string> defaults; ///< of what nobody says
    std::vector<std::string> not_understood;     ///< flags that may change memory, with their values
    std::vector<std::string> notes;              ///< what else is to be known of them
};

/// A key of a file and its text.
struct KeyText {
    std::string key, text;
    std::string where; ///< for messages
};

/// What becomes of a flag whose value is missing or one that the runtime does not take: an Error, or as if nobody had said
/// it, for lines that may be cut off.
enum class Mistakes : std::uint8_t { stop, pass_over };

/// The arguments of a runtime's command. `where` stands before a flag in messages: "compose.yaml:12: ". Throws Error for
/// a flag whose value is missing; an unknown one is not understood.
ReadSettings read_arguments(const RuntimeCommand& command, const std::string& where,
                            Mistakes mistakes = Mistakes::stop);

/// The variables that the runtime reads.
ReadSettings read_variables(const CommandTable& table, const Environment& environment, const std::string& where);

/// Keys of a file that the runtime reads: of a Modelfile, of a preset.
ReadSettings read_keys(const CommandTable& table, std::span<const KeyText> keys);

} // namespace vramfit
