#include "cli/check_options.hpp"
#include "cli/commands.hpp"
#include "cli/log_options.hpp"
#include "cli/render_check.hpp"
#include "vramfit/base/choice.hpp"
#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} * 1024 * 1024;

enum class CheckFormat : std::uint8_t { text, json, github };

CheckFormat format_of(const ParsedArguments& arguments) {
    if (arguments.last_of({"--json", "--format"}) == "--json") return CheckFormat::json;
    static constexpr std::array<Choice<CheckFormat>, 3> formats{
        {{"text", CheckFormat::text}, {"json", CheckFormat::json}, {"github", CheckFormat::github}}};
    return choose("--format", arguments.value("--format").value_or("text"), formats);
}

std::string content_of(const std::string& file, const ByteStream& standard_input) {
    const ByteStream stream = open_logs({file}, standard_input);
    std::string text;
    std::array<std::byte, 65536> buffer;
    while (const std::size_t n = stream(buffer)) {
        text.append(reinterpret_cast<const char*>(buffer.data()), n);
        if (text.size() > most_bytes) throw Error(quote(file) + " has more than 16 MiB");
    }
    return text;
}

bool is_unanswered(const CheckedDeployment& row) { return !row.answer && !row.no_model; }

/// The worst of all: one that was not answered, one that does not fit.
int exit_code_of(const std::vector<CheckedDeployment>& rows, bool strict) {
    if (std::ranges::any_of(rows, is_unanswered)) return exit_error;
    if (std::ranges::all_of(rows, &CheckedDeployment::no_model)) return exit_error; // nothing was checked
    const bool good = std::ranges::all_of(rows, [&](const CheckedDeployment& row) {
        if (row.no_model) return true;
        const Verdict verdict = row.answer->verdict;
        return verdict == Verdict::fit || (verdict == Verdict::tight && !strict);
    });
    return good ? exit_good : exit_bad;
}

/// What standard error says of deployments that were not answered.
std::string remark_of(const std::vector<CheckedDeployment>& rows) {
    const auto failed = std::ranges::count_if(rows, is_unanswered);
    if (failed == 0 && std::ranges::all_of(rows, &CheckedDeployment::no_model))
        return "no deployment names a model; --model says what to check them with";
    if (failed == 0) return "";
    const auto first = std::ranges::find_if(rows, is_unanswered);
    return std::to_string(failed) + " of " + std::to_string(rows.size()) +
           " deployments could not be checked: " + first->file + ":" + std::to_string(first->line) + ": " +
           first->error;
}

} // namespace

CommandResult check_command(Arguments arguments, const Terminal& terminal, const ModelSources& sources) {
    const ParsedArguments parsed = parse(arguments, check_options());
    const CheckFormat format = format_of(parsed);
    const bool strict = parsed.has("--strict");
    const bool use_environment = !parsed.has("--no-env");
    const auto options = settings_of(parsed);
    std::vector<std::string> files = parsed.positionals();
    if (files.empty()) files.emplace_back("-");
    std::vector<CheckedDeployment> rows;
    for (const std::string& file : files) {
        auto more = check_file(content_of(file, sources.standard_input), file, options, sources, use_environment);
        std::ranges::move(more, std::back_inserter(rows));
    }
    CommandResult result;
    result.exit_code = exit_code_of(rows, strict);
    result.remark = remark_of(rows);
    if (parsed.has("--quiet")) return result;
    switch (format) {
    case CheckFormat::json: result.text = render_check_json(rows); break;
    case CheckFormat::github: result.text = render_check_github(rows, strict); break;
    case CheckFormat::text: {
        const auto color = read_color(parsed);
        result.text = render_check_text(rows, terminal.with(color));
    }
    }
    return result;
}

} // namespace vramfit::cli
