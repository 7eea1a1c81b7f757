#pragma once

#include "vramfit/base/embedded_data.hpp"

// What the generated source defines; see src/data/embed_data.cpp.
namespace vramfit::embedded::tables {

extern const std::span<const std::string_view> file_paths; // sorted
extern const std::span<const std::string_view> file_texts; // in the order of file_paths
extern const std::span<const Entry> models;
extern const std::span<const Entry> gpus;
extern const std::span<const Name> model_names;
extern const std::span<const Name> gpu_names;

} // namespace vramfit::embedded::tables
