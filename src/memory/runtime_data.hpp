#pragma once

#include "vramfit/memory/runtime.hpp"

#include <nlohmann/json_fwd.hpp>

namespace vramfit {

/// The profile of an entry of data/runtimes.json that has taken over what it is like. Throws Error and JSON's own
/// exceptions for an entry that is not as it should be.
RuntimeProfile runtime_of(const nlohmann::json& entry);

} // namespace vramfit
