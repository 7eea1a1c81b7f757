#pragma once

#include "log_facts.hpp"

#include <string>

namespace vramfit {

/// A model of the catalog that a load is of. By its shape alone it may be another one: several have the same.
struct ModelGuess {
    std::string id; ///< empty where it is none of the catalog, or where the log says too little
    bool by_name = false;
};

/// By the model's name or its file's where the shape that the log prints agrees, else by the shape alone.
ModelGuess guess_model(const Load& load);

} // namespace vramfit
