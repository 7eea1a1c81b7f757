// The header of a safetensors file, in front of 48 bytes of data: tensors that fill them, or an Error.
#include "vramfit/model/safetensors.hpp"
#include "vramfit/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::uint64_t data_bytes = 48;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        std::uint64_t sum = 0;
        for (const auto& tensor : vramfit::parse_safetensors_header(text, data_bytes, "x.safetensors").tensors)
            sum += tensor.end - tensor.begin;
        if (sum != data_bytes) std::abort(); // what is read has no hole and no overlap
    } catch (const vramfit::Error&) {
    }
    return 0;
}
