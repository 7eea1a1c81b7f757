#pragma once

#include <string>
#include <string_view>

namespace vramfit {

/// The form in which two spellings of a model's or GPU's name are the same: ASCII letters in lower case, without
/// `-`, `_`, `.`, `:` and spaces. "Llama-3.1:8B" and "llama3.1-8b" both become "llama318b". `/` and `+` carry meaning
/// (owner/name, variant) and stay.
std::string normalize_name(std::string_view name);

} // namespace vramfit
