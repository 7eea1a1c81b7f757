#pragma once

#include "vramfit/memory/kv_cache.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// Why llama.cpp refuses a context with these settings, in its own words (llama-context.cpp, `llama_init_from_model`),
/// or nothing.
std::optional<std::string> settings_refusal(Evaluator& evaluator, const Settings& settings,
                                            const std::vector<Cache>& caches);

/// llama.cpp aborts where a graph has more tensors (nodes, and leafs that they read) than it made room for: 8 for each
/// tensor of the model and at least 1024, more for some architectures (llama-context.cpp, `graph_max_nodes`), rounded
/// up to the size of a hash table (ggml.c, `ggml_hash_size`).
std::optional<std::string> graph_refusal(Evaluator& evaluator, std::uint64_t n_tensors_in_graph);

} // namespace vramfit
