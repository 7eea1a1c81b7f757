#pragma once

#include "log_facts.hpp"

#include <string>

namespace vramfit {

/// The id of the catalog's model that a load is of: by its name or its file's where the shape that the log prints
/// agrees, else by the shape alone. Empty where it is none of the catalog, or where the log says too little.
std::string guess_model(const Load& load);

} // namespace vramfit
