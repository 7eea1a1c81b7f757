#pragma once

#include "cli/parse.hpp"
#include "cli/terminal.hpp"
#include "vramfit/answer/request.hpp"
#include "vramfit/answer/settings_text.hpp"
#include "vramfit/model/source.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit::cli {

enum class Format : std::uint8_t { text, json, tsv, markdown };

/// Which formats a command has: those of rows are for tables.
enum class Formats : std::uint8_t { plain, with_rows };

/// How an answer is to be shown.
struct OutputOptions {
    Format format = Format::text;
    ColorMode color = ColorMode::automatic;
};

/// Everything that the options of the main job say.
struct FitOptions {
    Request request;
    OutputOptions output;
    bool explain = false;
    bool strict = false; ///< a tight fit is a failure
    bool quiet = false;
    bool exec = false; ///< run the command behind "--" where it fits
};

/// Reads values and rules out contradictions. Throws Error for a value that makes no sense, options that exclude one
/// another, and a question that leaves too much open.
FitOptions read_fit_options(const ParsedArguments& arguments);

/// The same of a runtime's command line, with the environment of `sources`; the options count before both.
FitOptions read_fit_options(const ParsedArguments& arguments, const std::vector<std::string>& command,
                            const ModelSources& sources);

/// What the options say of the deployment, in the order in which they were last given.
std::vector<SettingText> settings_of(const ParsedArguments& arguments);

OutputOptions read_output_options(const ParsedArguments& arguments, Formats formats = Formats::plain);
ColorMode read_color(const ParsedArguments& arguments);

} // namespace vramfit::cli
