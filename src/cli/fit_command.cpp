#include "cli/commands.hpp"
#include "cli/render.hpp"

namespace vramfit::cli {
namespace {

int exit_code_of(Verdict verdict, bool strict) {
    const bool good = verdict == Verdict::fit || (verdict == Verdict::tight && !strict);
    return good ? exit_good : exit_bad;
}

} // namespace

CommandResult fit_command(Arguments arguments, const Terminal& terminal, const AnswerFunction& answer) {
    const FitOptions options = read_fit_options(parse(arguments, fit_options()));
    const Answer result = answer(options.request);
    const Terminal shown_on = terminal.with(options.output.color);
    const int exit_code = exit_code_of(result.verdict, options.strict);
    if (options.quiet) return {"", exit_code};
    if (options.output.format == Format::json) return {render_json(result), exit_code};
    std::string text = render_text(result, shown_on);
    if (options.explain) text += render_explanation(result, shown_on);
    return {text, exit_code};
}

} // namespace vramfit::cli
