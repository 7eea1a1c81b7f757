#include "cli/answer_table.hpp"
#include "cli/commands.hpp"
#include "cli/render.hpp"
#include "cli/render_table.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {
namespace {

int exit_code_of(Verdict verdict, bool strict) {
    const bool good = verdict == Verdict::fit || (verdict == Verdict::tight && !strict);
    return good ? exit_good : exit_bad;
}

std::string shown(const Answer& answer, const FitOptions& options, const Terminal& terminal) {
    const Format format = options.output.format;
    if (format == Format::json) return render_json(answer);
    if (format != Format::text) return render_table(table_of(answer), format, terminal);
    return render_text(answer, terminal) + (options.explain ? render_explanation(answer, terminal) : "");
}

CommandResult result_of(const Answer& answer, const FitOptions& options, const Terminal& terminal) {
    const int exit_code = exit_code_of(answer.verdict, options.strict);
    return {options.quiet ? "" : shown(answer, options, terminal), exit_code};
}

CommandResult result_of(const Table& table, const FitOptions& options, const Terminal& terminal) {
    if (options.exec)
        throw Error("--exec runs one deployment: the command names " +
                    std::string(table.subject && table.subject->model.empty() ? "no model" : "no quantization or GPU") +
                    "; give what is missing, and no table");
    if (options.explain)
        throw Error("--explain is about one deployment: give model, quantization and GPU, and no table");
    const int exit_code = has_match(table, options.strict) ? exit_good : exit_bad;
    return {options.quiet ? "" : render_table(table, options.output.format, terminal), exit_code};
}

} // namespace

CommandResult fit_command(Arguments arguments, Arguments command, const Terminal& terminal,
                          const AnswerFunction& answer, const ModelSources& sources) {
    if (command.size() == 1) throw Error("-- stands before the command line of a runtime, and none is given");
    const std::vector<std::string> words(command.begin() + (command.empty() ? 0 : 1), command.end());
    const FitOptions options = read_fit_options(parse(arguments, fit_options()), words, sources);
    const Solution solution = answer(options.request);
    const Terminal shown_on = terminal.with(options.output.color);
    CommandResult result = std::visit([&](const auto& found) { return result_of(found, options, shown_on); }, solution);
    result.refuses = options.exec;
    if (options.exec && result.exit_code == exit_good) {
        result.text.clear();
        result.exec = words;
    }
    return result;
}

} // namespace vramfit::cli
