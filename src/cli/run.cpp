#include "cli/run.hpp"

#include "cli/help.hpp"
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

constexpr std::array<std::string_view, 4> commands{"fit", "models", "gpus", "quants"};

/// Whether an option that answers by itself is among the arguments, as an option and not as the value of one.
bool asks_for(Arguments arguments, std::span<const OptionSpec> options, std::string_view name) {
    const auto normal = normalise(arguments, options);
    return std::find(normal.begin(), normal.end(), name) != normal.end();
}

CommandResult unknown_command(std::string_view name) {
    const std::string hint = did_you_mean(name, commands);
    throw Error("unknown command " + quote(name) +
                (hint.empty() ? "; a model is given with --model, see vramfit --help" : hint));
}

CommandResult fit(Arguments arguments, const Terminal& terminal, const AnswerFunction& answer) {
    if (asks_for(arguments, fit_options(), "--help")) return {help_text("")};
    if (asks_for(arguments, fit_options(), "--version")) return {version_text()};
    return fit_command(arguments, terminal, answer);
}

CommandResult listing(std::string_view command, Arguments arguments, const Terminal& terminal) {
    if (asks_for(arguments, listing_options(), "--help")) return {help_text(command)};
    if (command == "models") return models_command(arguments, terminal);
    return command == "gpus" ? gpus_command(arguments, terminal) : quants_command(arguments, terminal);
}

CommandResult dispatch(Arguments arguments, const Terminal& terminal, const AnswerFunction& answer) {
    if (arguments.empty() || arguments.front().starts_with('-')) return fit(arguments, terminal, answer);
    const std::string& command = arguments.front();
    if (std::find(commands.begin(), commands.end(), command) == commands.end()) return unknown_command(command);
    const Arguments rest = arguments.subspan(1);
    return command == "fit" ? fit(rest, terminal, answer) : listing(command, rest, terminal);
}

} // namespace

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal,
        const AnswerFunction& answer) {
    try {
        const CommandResult result = dispatch(args, terminal, answer);
        out << result.text;
        if (!result.remark.empty()) err << "vramfit: " << result.remark << "\n";
        return result.exit_code;
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
