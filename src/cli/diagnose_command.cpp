#include "cli/commands.hpp"
#include "cli/log_options.hpp"
#include "cli/render_diagnosis.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

CommandResult diagnose_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources) {
    const ParsedArguments parsed = parse(arguments, diagnose_options());
    const OutputOptions output = read_output_options(parsed);
    const bool report = parsed.has("--report");
    if (report && output.format == Format::json) throw Error("--report is text for a person: leave --json out");
    const Diagnosis diagnosis = diagnose(open_logs(parsed.positionals(), sources.standard_input), read_hints(parsed));
    const int exit_code = diagnosis.oom ? exit_good : exit_bad;
    if (report) return {render_report(diagnosis), exit_code};
    if (output.format == Format::json) return {render_diagnosis_json(diagnosis), exit_code};
    return {render_diagnosis_text(diagnosis, terminal.with(output.color)), exit_code};
}

} // namespace vramfit::cli
