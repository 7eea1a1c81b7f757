#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "cli/log_options.hpp"
#include "cli/text_table.hpp"
#include "vramfit/answer/diagnosis.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"

#include <fmt/format.h>

namespace vramfit::cli {
namespace {

std::string label_of(const std::string& component) {
    if (component == "kv_cache") return "KV cache";
    if (component == "recurrent_state") return "recurrent state";
    return component;
}

/// "+12.5 MiB": what the log shows beyond the prediction.
std::string difference_text(const ComparedFigure& figure) {
    if (figure.equal()) return "equal"; // within what the log rounds
    constexpr double mebibyte = 1024.0 * 1024;
    const auto predicted = static_cast<double>(figure.predicted);
    const double difference = static_cast<double>(figure.logged) - predicted;
    const double share = predicted == 0 ? 0 : difference / predicted * 100;
    return fmt::format("{:+.2f} MiB{}", difference / mebibyte,
                       predicted == 0 ? "" : fmt::format(" ({:+.1f} %)", share));
}

constexpr std::size_t widest_device = 20;
constexpr std::size_t widest_model = 48;

std::string text_of(const Comparison& comparison, const Terminal& terminal) {
    std::vector<TextRow> rows;
    for (const ComparedFigure& figure : comparison.figures)
        rows.push_back({{label_of(figure.component), shortened(printable(figure.device), widest_device),
                         format_exact_mib(figure.predicted), format_exact_mib(figure.logged), difference_text(figure)},
                        figure.reason});
    std::string model = comparison.model_id.empty() ? comparison.model_name : comparison.model_id;
    if (model.empty() && !comparison.model_guess.empty()) model = "the shape of " + comparison.model_guess;
    const std::string quant = comparison.quant.empty() ? "" : "  " + comparison.quant;
    std::string text =
        shortened(printable(model), widest_model) + printable(quant) + "  ctx " + std::to_string(comparison.n_ctx) +
        "  " + std::string(name_of(comparison.runtime)) + "\n\n" +
        text_table({{"part"}, {"where"}, {"predicted", true}, {"logged", true}, {"difference"}}, rows, terminal);
    if (!comparison.notes.empty()) text += "\n";
    for (const std::string& note : comparison.notes) text += wrapped("  note: ", note);
    return text;
}

std::string json_of(const Comparison& comparison) {
    Json figures = Json::array();
    for (const ComparedFigure& figure : comparison.figures)
        figures.push_back({{"component", figure.component},
                           {"device", figure.device},
                           {"predicted", figure.predicted},
                           {"logged", figure.logged},
                           {"line", figure.line},
                           {"rounding", figure.rounding},
                           {"reason", text_or_null(figure.reason)}});
    return dump({{"schema", "vramfit/comparison/1"},
                 {"runtime", name_of(comparison.runtime)},
                 {"model",
                  {{"name", comparison.model_name},
                   {"id", comparison.model_id},
                   {"guess", comparison.model_guess},
                   {"quant", comparison.quant}}},
                 {"n_ctx", comparison.n_ctx},
                 {"figures", figures},
                 {"notes", comparison.notes}});
}

} // namespace

CommandResult compare_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources) {
    const ParsedArguments parsed = parse(arguments, compare_options());
    const OutputOptions output = read_output_options(parsed);
    const Comparison comparison = compare(open_logs(parsed.positionals(), sources.standard_input), read_hints(parsed));
    const bool empty = comparison.figures.empty();
    if (output.format == Format::json) return {json_of(comparison), empty ? exit_bad : exit_good, comparison.reason};
    if (empty) return {"", exit_bad, comparison.reason};
    return {text_of(comparison, terminal.with(output.color)), exit_good};
}

} // namespace vramfit::cli
