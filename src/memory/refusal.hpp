#pragma once

#include "vramfit/memory/kv_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// Why llama.cpp refuses a context with these settings, in its own words (llama-context.cpp, `llama_init_from_model`),
/// or nothing.
std::optional<std::string> settings_refusal(Evaluator& evaluator, const Settings& settings,
                                            const std::vector<Cache>& caches);

/// llama.cpp aborts where a graph has more nodes than it made room for: 8 for each tensor of the model, and at least
/// 1024 (llama-context.cpp, `graph_max_nodes`).
std::optional<std::string> graph_refusal(std::uint64_t n_nodes, std::size_t n_tensors);

} // namespace vramfit
