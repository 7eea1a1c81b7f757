#include "hf_file.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <span>

namespace vramfit {
namespace {

using Json = nlohmann::json;

/// Whether brackets stand deeper in each other than `limit`. Text in quotes does not count.
bool deeper_than(std::string_view text, int limit) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > limit) return true;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

/// Runs `parse`; what nlohmann throws becomes one line.
template <typename Parse>
auto bounded(std::string_view text, std::string_view shown, Parse parse) {
    constexpr int max_depth = 64;
    if (deeper_than(text, max_depth)) throw Error(std::string(shown) + " is nested too deeply");
    try {
        return parse();
    } catch (const Json::parse_error& e) {
        const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(e.byte, text.size()));
        throw Error(std::string(shown) + ", line " + std::to_string(1 + std::count(text.begin(), end, '\n')) +
                    ": not valid JSON");
    } catch (const Json::exception&) { // a number that no double holds
        throw Error(std::string(shown) + ": a number is too large");
    }
}

} // namespace

std::string shown_path(const std::filesystem::path& path) {
    const std::filesystem::path parent = path.parent_path().filename();
    return quote((parent.empty() ? path.filename() : parent / path.filename()).generic_string());
}

std::string read_exactly(const ByteStream& stream, std::uint64_t n, std::string_view shown) {
    std::string text(static_cast<std::size_t>(n), '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const std::size_t got = stream(std::as_writable_bytes(std::span(text).subspan(done)));
        if (got == 0) throw Error(std::string(shown) + " ends " + std::to_string(text.size() - done) + " bytes early");
        done += got;
    }
    return text;
}

std::string read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
    const ByteFile file = open_byte_file(path.string());
    const std::string shown = shown_path(path);
    if (file.size > limit)
        throw Error(shown + " has " + format_bytes(file.size) + "; at most " + format_bytes(limit) + " would be right");
    if (file.size == 0) throw Error(shown + " is empty");
    return read_exactly(file.stream, file.size, shown);
}

Json parse_bounded_json(std::string_view text, std::string_view shown) {
    return bounded(text, shown, [&] { return Json::parse(text); });
}

void read_bounded_json(std::string_view text, nlohmann::json_sax<Json>& sax, std::string_view shown) {
    bounded(text, shown, [&] { return Json::sax_parse(text, &sax); });
}

} // namespace vramfit
