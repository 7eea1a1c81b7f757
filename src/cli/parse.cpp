#include "cli/parse.hpp"

#include "cli/normalise.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <CLI/CLI.hpp> // here and nowhere else: it takes seconds to compile

#include <algorithm>

namespace vramfit::cli {
namespace {

void declare(CLI::App& app, std::span<const OptionSpec> options) {
    for (const OptionSpec& option : options) {
        const std::string name(option.name());
        if (option.takes_value()) {
            app.add_option(name)->expected(1)->take_all();
        } else {
            app.add_flag(name);
        }
    }
}

} // namespace

std::optional<std::string> ParsedArguments::value(std::string_view name) const {
    const auto& all = values(name);
    return all.empty() ? std::nullopt : std::optional(all.back());
}

const std::vector<std::string>& ParsedArguments::values(std::string_view name) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second;
}

std::string_view ParsedArguments::last_of(std::initializer_list<std::string_view> names) const {
    std::string_view last;
    std::size_t last_position = 0;
    for (const std::string_view name : names) {
        const auto found = positions_.find(name);
        if (found == positions_.end() || (!last.empty() && found->second < last_position)) continue;
        last = name;
        last_position = found->second;
    }
    return last;
}

std::vector<std::string_view> ParsedArguments::in_order() const {
    std::vector<std::pair<std::size_t, std::string_view>> found;
    found.reserve(positions_.size());
    for (const auto& [name, position] : positions_) found.emplace_back(position, name);
    std::sort(found.begin(), found.end());
    std::vector<std::string_view> names;
    names.reserve(found.size());
    for (const auto& [position, name] : found) names.push_back(name);
    return names;
}

ParsedArguments parse(std::span<const std::string> args, std::span<const OptionSpec> options) {
    CLI::App app;
    app.set_help_flag();
    app.allow_windows_style_options(false);
    app.allow_extras();
    declare(app, options);
    std::vector<std::string> reversed = normalise(args, options);
    if (std::find(reversed.begin(), reversed.end(), "--") != reversed.end()) {
        throw Error("unexpected argument \"--\"; see vramfit --help");
    }
    ParsedArguments result;
    for (std::size_t i = 0; i < reversed.size(); ++i) {
        const std::string name = reversed[i].substr(0, reversed[i].find('='));
        if (find_option(options, name)) result.add_position(name, i);
    }
    std::reverse(reversed.begin(), reversed.end()); // CLI11 takes arguments from the back
    try {
        app.parse(std::move(reversed));
    } catch (const CLI::Error& error) {
        throw Error(quote(error.what()) + "; see vramfit --help");
    }
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() > 0) result.add("--" + option->get_lnames().front(), option->results());
    }
    for (std::string& extra : app.remaining()) {
        if (extra.size() > 1 && extra.front() == '-') throw Error(unknown_option(options, extra));
        result.add_positional(std::move(extra));
    }
    return result;
}

} // namespace vramfit::cli
