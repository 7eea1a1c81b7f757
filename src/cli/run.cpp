#include "cli/run.hpp"

#include "cli/check_options.hpp"
#include "cli/help.hpp"
#include "cli/log_options.hpp"
#include "cli/normalise.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/near_match.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <ostream>

namespace vramfit::cli {
namespace {

/// A command beside the main job.
struct Command {
    std::string_view name;
    std::span<const OptionSpec> (*options)();
    CommandResult (*run)(Arguments arguments, const Terminal& terminal, const ModelSources& sources);
};

/// A command that asks about no model.
template <CommandResult (*command)(Arguments, const Terminal&)>
CommandResult without_sources(Arguments arguments, const Terminal& terminal, const ModelSources&) {
    return command(arguments, terminal);
}

constexpr std::array commands{
    Command{"models", models_options, models_command},
    Command{"gpus", listing_options, without_sources<gpus_command>},
    Command{"quants", listing_options, without_sources<quants_command>},
    Command{"runtimes", listing_options, without_sources<runtimes_command>},
    Command{"diagnose", diagnose_options, diagnose_command},
    Command{"compare", compare_options, compare_command},
    Command{"check", check_options, check_command},
    Command{"inspect", inspect_options, inspect_command},
};

/// Whether an option that answers by itself is among the arguments, as an option and not as the value of one.
bool asks_for(Arguments arguments, std::span<const OptionSpec> options, std::string_view name) {
    const auto normal = normalise(arguments, options);
    return std::find(normal.begin(), normal.end(), name) != normal.end();
}

CommandResult unknown_command(std::string_view name) {
    std::vector<std::string_view> known{"fit"};
    known.reserve(commands.size() + 1);
    for (const Command& command : commands) known.push_back(command.name);
    const std::string hint = did_you_mean(name, known);
    throw Error("unknown command " + quote(name) +
                (hint.empty() ? "; a model is given with --model, see vramfit --help" : hint));
}

CommandResult fit(Arguments arguments, const Terminal& terminal, const AnswerFunction& answer,
                  const ModelSources& sources) {
    const auto end = std::ranges::find(arguments, "--"); // what stands behind it is a runtime's command
    const Arguments own = arguments.first(static_cast<std::size_t>(end - arguments.begin()));
    if (asks_for(own, fit_options(), "--help")) return {help_text("")};
    if (asks_for(own, fit_options(), "--version")) return {version_text()};
    return fit_command(own, arguments.subspan(own.size()), terminal, answer, sources);
}

CommandResult dispatch(Arguments arguments, const Terminal& terminal, const AnswerFunction& answer,
                       const ModelSources& sources) {
    if (arguments.empty() || arguments.front().starts_with('-')) return fit(arguments, terminal, answer, sources);
    const std::string& name = arguments.front();
    const Arguments rest = arguments.subspan(1);
    if (name == "fit") return fit(rest, terminal, answer, sources);
    const auto command = std::ranges::find(commands, name, &Command::name);
    if (command == commands.end()) return unknown_command(name);
    if (asks_for(rest, command->options(), "--help")) return {help_text(name)};
    return command->run(rest, terminal, sources);
}

} // namespace

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal,
        const AnswerFunction& answer, const ModelSources& sources, const ExecFunction& exec) {
    try {
        const CommandResult result = dispatch(args, terminal, answer, sources);
        (result.refuses ? err : out) << result.text;
        if (!result.remark.empty()) err << "vramfit: " << result.remark << "\n";
        return result.exec.empty() ? result.exit_code : exec(result.exec);
    } catch (const Error& error) {
        err << "vramfit: " << error.what() << "\n";
    } catch (const std::bad_alloc&) {
        err << "vramfit: out of memory\n";
    } catch (const std::exception& error) { // a mistake of ours: still one line, still an exit code
        err << "vramfit: internal error: " << error.what() << "\n";
    }
    return exit_error;
}

} // namespace vramfit::cli
