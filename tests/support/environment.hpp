#pragma once

#include "vramfit/base/environment.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace vramfit::test {

/// An environment of these variables and no others.
inline Environment variables(std::map<std::string, std::string, std::less<>> table) {
    return [table = std::move(table)](std::string_view name) -> std::optional<std::string> {
        const auto found = table.find(name);
        return found == table.end() ? std::nullopt : std::optional(found->second);
    };
}

} // namespace vramfit::test
