#include "cli/fit_options.hpp"

#include "vramfit/answer/deployment.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/choice.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
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

/// Says what is missing: a model may be looked for where GPU and context are given, everything else where a model is.
void require_enough(const Request& request) {
    if (!request.model.empty()) return;
    if (request.gpus.empty())
        throw Error("give a model or a GPU, such as --model llama3.1-8b, or --gpu 24GB --ctx 8192");
    if (!request.n_ctx) throw Error("give a model or a context, such as --model llama3.1-8b or --ctx 8192");
}

std::uint64_t parameters(const std::string& text) {
    constexpr std::uint64_t fewest = 10'000; // that a language model has: a smaller number lacks its letter
    try {
        const std::uint64_t n = parse_parameters(text);
        if (n > 0 && n < fewest)
            throw Error(quote(text) + " would be " + std::to_string(n) + " weights; write it like " +
                        std::to_string(n) + "B");
        return n;
    } catch (const Error& error) {
        throw Error(std::string("--min-params: ") + error.what());
    }
}

/// What is said of tables and of models that are looked for.
void read_sweep(const ParsedArguments& arguments, Request& request) {
    if (const auto given = arguments.value("--table")) {
        static constexpr std::array<Choice<TableAxis>, 2> axes{
            {{"quant", TableAxis::quant}, {"cache", TableAxis::cache}}};
        request.table = choose("--table", *given, axes);
    }
    ModelFilter& filter = request.models;
    filter.family = arguments.value("--family").value_or("");
    filter.license = arguments.value("--license").value_or("");
    if (const auto given = arguments.value("--min-params")) filter.min_parameters = parameters(*given);
    filter.moe = arguments.has("--moe");
    if (const auto given = arguments.value("--sort")) {
        static constexpr std::array<Choice<ModelOrder>, 4> orders{{{"params", ModelOrder::parameters},
                                                                   {"headroom", ModelOrder::headroom},
                                                                   {"context", ModelOrder::context},
                                                                   {"name", ModelOrder::name}}};
        filter.order = choose("--sort", *given, orders);
    }
}

/// What may be said of a command that is to run: of the machine, and which model its file is. Everything else would
/// answer for another deployment than the one that runs.
bool goes_with_exec(std::string_view setting) {
    static constexpr std::array<std::string_view, 10> about_the_machine{
        "gpu", "free", "reserve", "margin", "ram", "catalog", "model", "quant", "runtime-version", "no-imatrix"};
    return std::ranges::find(about_the_machine, setting) != about_the_machine.end();
}

void check_exec(const std::vector<SettingText>& settings, const std::vector<std::string>& command) {
    if (command.empty()) throw Error("--exec runs the command behind --, and none is given");
    for (const SettingText& setting : settings) {
        if (!goes_with_exec(setting.setting))
            throw Error(setting.where + " would answer for something else than what --exec runs: say it in the command "
                                        "behind --");
    }
}

std::string format_name(const FitOptions& options) {
    switch (options.output.format) {
    case Format::json: return "JSON";
    case Format::tsv: return "TSV";
    case Format::markdown: return "Markdown";
    case Format::text: break;
    }
    return "text";
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

OutputOptions read_output_options(const ParsedArguments& arguments, Formats formats) {
    OutputOptions output;
    if (const auto given = arguments.value("--format")) {
        static constexpr std::array<Choice<Format>, 2> plain{{{"text", Format::text}, {"json", Format::json}}};
        static constexpr std::array<Choice<Format>, 5> all{{{"text", Format::text},
                                                            {"json", Format::json},
                                                            {"tsv", Format::tsv},
                                                            {"markdown", Format::markdown},
                                                            {"md", Format::markdown}}};
        output.format =
            formats == Formats::plain ? choose("--format", *given, plain) : choose("--format", *given, all, 4);
    }
    if (arguments.last_of({"--json", "--format"}) == "--json") output.format = Format::json;
    output.color = read_color(arguments);
    return output;
}

ColorMode read_color(const ParsedArguments& arguments) {
    static constexpr std::array<Choice<ColorMode>, 3> modes{
        {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}}};
    return choose("--color", arguments.value("--color").value_or("auto"), modes);
}

FitOptions read_fit_options(const ParsedArguments& arguments) {
    ModelSources sources;
    sources.environment = empty_environment();
    return read_fit_options(arguments, {}, sources);
}

FitOptions read_fit_options(const ParsedArguments& arguments, const std::vector<std::string>& command,
                            const ModelSources& sources) {
    FitOptions options;
    options.output = read_output_options(arguments, Formats::with_rows);
    options.explain = arguments.has("--explain");
    options.strict = arguments.has("--strict");
    options.quiet = arguments.has("--quiet");
    const bool is_text = options.output.format == Format::text;
    if (options.quiet && (options.explain || !is_text)) {
        throw Error(std::string("--quiet shows nothing, ") + (options.explain ? "--explain" : format_name(options)) +
                    " is to be shown: give one of them");
    }
    if (options.explain && !is_text) {
        throw Error("--explain is text and has no " + format_name(options) + " form: give one of them");
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
    read_sweep(arguments, options.request);
    options.request.strict = options.strict;
    check_draft(arguments, options.request);
    require_enough(options.request);
    options.exec = arguments.has("--exec");
    if (options.exec) check_exec(settings_of(arguments), command);
    return options;
}

} // namespace vramfit::cli
