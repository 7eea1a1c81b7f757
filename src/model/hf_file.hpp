#pragma once

#include "vramfit/base/byte_stream.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace vramfit {

/// The end of a path as messages show it: "Meta-Llama-3.1-8B/config.json".
std::string shown_path(const std::filesystem::path& path);

/// The next `n` bytes of `stream`; throws Error where it ends before. `shown` names it.
std::string read_exactly(const ByteStream& stream, std::uint64_t n, std::string_view shown);

/// The whole of the text file at `path`, which must not be empty nor larger than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit);

/// `text` as JSON. Bounds its depth, so that no file makes the parser or a reader recurse deeply. Throws Error that
/// begins with `shown`.
nlohmann::json parse_bounded_json(std::string_view text, std::string_view shown);

/// `text` read by `sax`, bounded in the same way.
void read_bounded_json(std::string_view text, nlohmann::json_sax<nlohmann::json>& sax, std::string_view shown);

} // namespace vramfit
