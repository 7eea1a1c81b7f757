#pragma once

#include "vramfit/model/gguf.hpp"
#include "vramfit/model/model.hpp"

namespace vramfit {

/// Gives `model` the tensors of the file, each with the place that its architecture has for its name; what no template
/// knows is placed by its name. Throws Error for a tensor of a block that the model does not have.
void add_gguf_tensors(Model& model, const GgufHeader& header);

} // namespace vramfit
