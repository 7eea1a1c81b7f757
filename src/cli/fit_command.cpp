#include "cli/commands.hpp"
#include "cli/render.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {
namespace {

int exit_code_of(Verdict verdict, bool strict) {
    const bool good = verdict == Verdict::fit || (verdict == Verdict::tight && !strict);
    return good ? exit_good : exit_bad;
}

} // namespace

CommandResult fit_command(Arguments arguments, Arguments command, const Terminal& terminal,
                          const AnswerFunction& answer, const ModelSources& sources) {
    if (command.size() == 1) throw Error("-- stands before the command line of a runtime, and none is given");
    const std::vector<std::string> words(command.begin() + (command.empty() ? 0 : 1), command.end());
    const FitOptions options = read_fit_options(parse(arguments, fit_options()), words, sources);
    const Answer result = answer(options.request);
    const Terminal shown_on = terminal.with(options.output.color);
    CommandResult shown;
    shown.exit_code = exit_code_of(result.verdict, options.strict);
    shown.refuses = options.exec;
    if (options.exec && shown.exit_code == exit_good) {
        shown.exec = words;
    } else if (options.output.format == Format::json) {
        shown.text = render_json(result);
    } else if (!options.quiet) {
        shown.text = render_text(result, shown_on);
        if (options.explain) shown.text += render_explanation(result, shown_on);
    }
    return shown;
}

} // namespace vramfit::cli
