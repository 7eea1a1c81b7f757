#pragma once

#include "vramfit/model/gguf.hpp"

#include <string>

namespace vramfit {

/// The head of the file `path`, or of the whole set where it is part of a split one (llama-gguf-split): the metadata of
/// the first part, the tensors of all. Throws Error naming the parts that are missing or do not agree.
GgufHeader read_gguf_set(const std::string& path);

/// The name of a model's file: without folders, ".gguf" and the number of a part.
std::string gguf_stem(const std::string& path);

} // namespace vramfit
