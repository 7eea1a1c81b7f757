#pragma once

#include "vramfit/answer/request.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// The settings of a request as text: on a command line, in the environment, in a file. A setting has the name of the
/// program's option without its dashes, wherever it stands: "ctx", "gpu-layers", "cache-type-k". One that is on or off
/// ("kv-offload", "swa-full") may also be named by its opposite, "no-kv-offload".

struct SettingText {
    std::string setting; ///< "ctx"; `_` for `-` is forgiven
    std::string text;    ///< "32k"; of a setting that is on or off "on", "off" and what llama.cpp takes for them
    std::string where;   ///< where it was said, for messages: "--ctx", "LLAMA_ARG_CTX_SIZE", "compose.yaml:12: -c"
};

/// Puts them into the request in their order, so that of what is said twice the last one counts. Of the settings that
/// add up (gpu, override-tensor, lora, catalog) the first one replaces what the request had before. Throws Error for an
/// unknown setting and for a text that makes no sense, naming where it stands.
void apply_settings(Request& request, std::span<const SettingText> said);

/// Whether there is a setting of that name.
bool is_setting(std::string_view name);

/// Whether that setting is on or off.
bool is_switch(std::string_view name);

/// Whether that setting may be said several times, each time adding to it.
bool adds_up(std::string_view name);

/// The names of all settings, without the opposites.
std::vector<std::string_view> setting_names();

} // namespace vramfit
