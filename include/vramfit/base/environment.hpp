#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace vramfit {

/// Looks up environment variables: the process's own, or a table in tests. Nothing for a variable that is not set.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

/// The variables of this process.
Environment process_environment();

/// No variables at all.
Environment empty_environment();

} // namespace vramfit
