#pragma once

#include "cli/options.hpp"

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::cli {

/// An argument list taken apart: what was given under which option's name, and what stood by itself.
class ParsedArguments {
public:
    bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
    std::optional<std::string> value(std::string_view name) const; ///< the last one counts, as in llama.cpp
    const std::vector<std::string>& values(std::string_view name) const;

    /// The one of these options that was given last; empty where none was. Options that say the same thing or its
    /// opposite replace each other.
    std::string_view last_of(std::initializer_list<std::string_view> names) const;

    /// The names of the options that were given, in the order of their last time.
    std::vector<std::string_view> in_order() const;

    const std::vector<std::string>& positionals() const { return positionals_; }

    void add(std::string name, std::vector<std::string> values) { values_[std::move(name)] = std::move(values); }
    void add_position(std::string name, std::size_t position) { positions_[std::move(name)] = position; }
    void add_positional(std::string text) { positionals_.push_back(std::move(text)); }

private:
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
    std::map<std::string, std::size_t, std::less<>> positions_; ///< of the last time, in the argument list
    std::vector<std::string> positionals_;
};

/// Takes `args` apart by the table. Throws Error for an option that the table does not have.
ParsedArguments parse(std::span<const std::string> args, std::span<const OptionSpec> options);

} // namespace vramfit::cli
