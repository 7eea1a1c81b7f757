#include "cli/normalise.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace vramfit::cli {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether an argument reads as an option: "-x", "--long"; not "-", and not a negative number.
bool looks_like_option(std::string_view arg) { return arg.size() > 1 && arg.front() == '-' && !is_digit(arg[1]); }

/// An argument cut into the option and the value behind "=" or, in short forms, glued on: "-c8192".
struct Cut {
    const OptionSpec* option = nullptr;
    std::string_view spelling;
    std::optional<std::string_view> value;
};

Cut cut(std::string_view arg, std::span<const OptionSpec> options) {
    Cut result;
    result.spelling = arg;
    if (const std::size_t equals = arg.find('='); equals != std::string_view::npos) {
        result.spelling = arg.substr(0, equals);
        result.value = arg.substr(equals + 1);
    }
    result.option = find_option(options, result.spelling);
    if (!result.option && !result.value && !arg.starts_with("--")) {
        const auto digit = std::find_if(arg.begin(), arg.end(), is_digit);
        const std::string_view letters = arg.substr(0, static_cast<std::size_t>(digit - arg.begin()));
        const OptionSpec* const glued = find_option(options, letters);
        if (digit != arg.end() && glued && glued->takes_value()) {
            result = {glued, letters, arg.substr(letters.size())};
        }
    }
    return result;
}

/// Whether `arg` can be the value of an option whose value may be left out.
bool is_optional_value(std::string_view arg) { return !looks_like_option(arg); }

[[noreturn]] void throw_no_value(const Cut& part) {
    throw Error(std::string(part.spelling) + " needs a value, such as " + std::string(part.spelling) + " " +
                std::string(part.option->example));
}

} // namespace

std::vector<std::string> normalise(std::span<const std::string> args, std::span<const OptionSpec> options) {
    std::vector<std::string> result;
    result.reserve(args.size());
    for (std::size_t i = 0; i < args.size(); ++i) {
        Cut part = looks_like_option(args[i]) ? cut(args[i], options) : Cut{};
        if (!part.option) {
            result.push_back(args[i]);
            continue;
        }
        std::string name(part.option->name());
        if (!part.option->takes_value()) {
            if (part.value) throw Error(std::string(part.spelling) + " takes no value, but has " + quote(*part.value));
            result.push_back(std::move(name));
            continue;
        }
        const bool has_next = i + 1 < args.size();
        if (!part.value && has_next && is_optional_value(args[i + 1])) {
            part.value = args[++i];
        } else if (!part.value && !part.option->implied.empty()) {
            part.value = part.option->implied;
        }
        if (!part.value || part.value->empty()) throw_no_value(part);
        result.push_back(name.append("=").append(*part.value));
    }
    return result;
}

} // namespace vramfit::cli
