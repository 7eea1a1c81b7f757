#include "cli/fit_options.hpp"

#include "vramfit/answer/deployment.hpp"
#include "vramfit/base/choice.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/model/source.hpp"

#include <array>

namespace vramfit::cli {
namespace {

void check_draft(const ParsedArguments& arguments, const Request& request) {
    if (request.draft) return;
    for (const std::string_view option :
         {"--quant-draft", "--gpu-layers-draft", "--cache-type-k-draft", "--cache-type-v-draft"}) {
        if (arguments.has(option))
            throw Error(std::string(option) + " is about a draft model: name it with --model-draft");
    }
}

/// Says what is missing, with an option to add for each.
void require_complete(const Request& request) {
    std::vector<std::string_view> missing;
    std::string example;
    const auto need = [&](bool there, std::string_view what, std::string_view option) {
        if (there) return;
        missing.push_back(what);
        example.append(" ").append(option);
    };
    need(!request.model.empty(), "a model", "--model llama3.1-8b");
    // Where a file's types are still open, the answer asks for one.
    need(request.quant || has_own_types(request.model), "a quantization", "--quant q4_k_m");
    need(!request.gpus.empty(), "a GPU", "--gpu 24GB");
    if (!missing.empty()) throw Error("give " + enumerated(missing, "and") + ", such as" + example);
}

} // namespace

std::vector<SettingText> settings_of(const ParsedArguments& arguments) {
    std::vector<SettingText> settings;
    for (const std::string_view option : arguments.in_order()) {
        const std::string setting(option.substr(2));
        if (!is_setting(setting)) continue;
        const auto& values = arguments.values(option);
        if (is_switch(setting)) {
            settings.push_back({setting, "on", std::string(option)});
        } else if (adds_up(setting)) {
            for (const std::string& value : values) settings.push_back({setting, value, std::string(option)});
        } else {
            settings.push_back({setting, values.back(), std::string(option)});
        }
    }
    return settings;
}

OutputOptions read_output_options(const ParsedArguments& arguments) {
    OutputOptions output;
    if (const auto given = arguments.value("--format")) {
        constexpr std::array<Choice<Format>, 2> formats{{{"text", Format::text}, {"json", Format::json}}};
        output.format = choose("--format", *given, formats);
    }
    if (arguments.last_of({"--json", "--format"}) == "--json") output.format = Format::json;
    if (const auto given = arguments.value("--color")) {
        constexpr std::array<Choice<ColorMode>, 3> modes{
            {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}}};
        output.color = choose("--color", *given, modes);
    }
    return output;
}

FitOptions read_fit_options(const ParsedArguments& arguments) {
    ModelSources sources;
    sources.environment = empty_environment();
    return read_fit_options(arguments, {}, sources);
}

FitOptions read_fit_options(const ParsedArguments& arguments, const std::vector<std::string>& command,
                            const ModelSources& sources) {
    FitOptions options;
    options.output = read_output_options(arguments);
    options.explain = arguments.has("--explain");
    options.strict = arguments.has("--strict");
    options.quiet = arguments.has("--quiet");
    if (options.quiet && (options.explain || options.output.format == Format::json)) {
        throw Error(std::string("--quiet shows nothing, ") + (options.explain ? "--explain" : "JSON") +
                    " is to be shown: give one of them");
    }
    if (options.explain && options.output.format == Format::json) {
        throw Error("--explain is text and has no JSON form: give one of them");
    }
    if (!arguments.positionals().empty()) {
        throw Error("unexpected argument " + quote(arguments.positionals().front()) + "; see vramfit --help");
    }
    const bool use_environment = !arguments.has("--no-env");
    options.request = request_of({.options = settings_of(arguments),
                                  .command = command,
                                  .environment = use_environment ? sources.environment : empty_environment()},
                                 sources);
    options.request.use_environment = use_environment;
    options.request.strict = options.strict;
    check_draft(arguments, options.request);
    require_complete(options.request);
    options.exec = arguments.has("--exec");
    if (options.exec && command.empty()) throw Error("--exec runs the command behind --, and none is given");
    return options;
}

} // namespace vramfit::cli
