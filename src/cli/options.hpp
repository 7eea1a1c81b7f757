#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// One option of a command. The tables of these are the only place that knows the options: the parser, the help and
/// the suggestions for mistyped names all read them.
struct OptionSpec {
    std::string_view spellings; ///< "-ngl,--gpu-layers,--n-gpu-layers": the first long one is its name
    std::string_view value;     ///< what stands behind it, as the help shows it: "N"; empty: nothing does
    std::string_view example;   ///< a value that a message can offer
    std::string_view implied;   ///< the value where none is given (`-fa` means `-fa on`); empty: one must be given
    std::string_view group;     ///< heading in the help
    std::string_view help;

    bool takes_value() const { return !value.empty(); }
    std::vector<std::string_view> all_spellings() const;
    std::string_view name() const; ///< "--gpu-layers"
};

/// Options of the main job (`vramfit`, `vramfit fit`).
std::span<const OptionSpec> fit_options();

/// Options of `vramfit gpus` and `quants`.
std::span<const OptionSpec> listing_options();

/// Options of `vramfit models`.
std::span<const OptionSpec> models_options();

/// Options of `vramfit inspect`.
std::span<const OptionSpec> inspect_options();

/// The option of that spelling, or nullptr. Long names may be written with `_` for `-`, as llama.cpp forgives too.
const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view spelling);

/// Message about an option that no table has: "unknown option --modle; did you mean --model?".
std::string unknown_option(std::span<const OptionSpec> options, std::string_view spelling);

} // namespace vramfit::cli
