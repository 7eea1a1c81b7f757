#pragma once

#include "cli/options.hpp"

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
    const std::vector<std::string>& positionals() const { return positionals_; }

    void add(std::string name, std::vector<std::string> values) { values_[std::move(name)] = std::move(values); }
    void add_positional(std::string text) { positionals_.push_back(std::move(text)); }

private:
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
    std::vector<std::string> positionals_;
};

/// Takes `args` apart by the table. Throws Error for an option that the table does not have.
ParsedArguments parse(std::span<const std::string> args, std::span<const OptionSpec> options);

} // namespace vramfit::cli
