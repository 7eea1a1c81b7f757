// Sizes, contexts, GPUs and file types as people type them: a value within its bounds, or an Error.
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/model/file_type.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

/// Breaks off where `holds` is false: the fuzzer then keeps the input.
void require(bool holds) {
    if (!holds) std::abort();
}

template <typename Read>
void read(Read&& reader) {
    try {
        reader();
    } catch (const vramfit::Error& e) {
        require(std::string_view(e.what()).find('\n') == std::string_view::npos); // one line
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read([&] {
        const std::uint64_t bytes = vramfit::parse_size(text);
        require(bytes <= vramfit::largest_size);
        require(!vramfit::format_bytes(bytes).empty());
    });
    read([&] { require(vramfit::parse_tokens(text) <= 2147483647); });
    read([&] {
        const auto devices = vramfit::parse_gpu_spec(text);
        require(!devices.empty() && devices.size() <= 64);
    });
    read([&] { vramfit::parse_file_type(text); });
    return 0;
}
