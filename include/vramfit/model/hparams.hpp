#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramfit {

/// The hyperparameters of a model under their GGUF keys, without the architecture's prefix:
/// "block_count", "attention.head_count_kv". A value is a number (true is 1) or an array of numbers, one a layer.
/// Text values are not kept: no size depends on them.
class Hparams {
public:
    using Value = std::vector<double>; ///< one element: a scalar, holds for every layer

    /// Adds or replaces `key`. An empty array is dropped: llama.cpp reads it as absent.
    void set(std::string key, Value value);
    void set(std::string key, double value) { set(std::move(key), Value{value}); }

    /// The value under `key`, or nullptr.
    const Value* find(std::string_view key) const;

    /// The number under `key` (of layer `il` where it is an array), or `otherwise` where it is absent or too short.
    double get(std::string_view key, double otherwise, std::size_t il = 0) const;

    const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }

private:
    std::vector<std::pair<std::string, Value>> entries_; // sorted by key
};

} // namespace vramfit
