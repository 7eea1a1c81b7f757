#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vramfit {

/// Where things stand in a JSON text that a person has written, for messages. The text must be valid JSON.
/// Places are JSON pointers: "/models/3/hparams/block_count".

/// The line (from 1) of the key or element at `pointer`; 1 where there is none such.
std::size_t line_of(std::string_view text, std::string_view pointer);

/// A key that an object has twice, by its pointer; or nothing.
std::optional<std::string> repeated_key(std::string_view text);

} // namespace vramfit
