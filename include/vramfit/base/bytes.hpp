#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace vramfit {

/// Sizes of memory and their text. A size is a whole number of bytes in a `std::uint64_t`; text appears only where a
/// person reads or writes. Every unit is binary, whether it is spelled GB or GiB: memory is made that way, and a
/// card sold as "24GB" has 24 GiB.

inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;
inline constexpr std::uint64_t gib = 1024 * mib;
inline constexpr std::uint64_t tib = 1024 * gib;
inline constexpr std::uint64_t largest_size = 1024 * (1024 * tib); ///< 1 EiB: more is a slip of the pen

/// The bytes that `text` names: "24GB", "24GiB", "24" (no unit: GB), "24564MiB", "1.5 GiB", "512K", "4096B", "0".
/// Letter case does not matter; a fraction of a byte is dropped. Throws Error for anything else: a negative number,
/// an exponent, an unknown unit, more than `largest_size`.
std::uint64_t parse_size(std::string_view text);

/// The tokens that `text` names: "32768", "32k" (x 1024), "1M" (x 1024 x 1024); "max" and "0" give 0, which stands
/// for what the model was trained for. Throws Error for anything else, and above 2^31 - 1, the most that llama.cpp's
/// positions can count.
std::uint64_t parse_tokens(std::string_view text);

/// The number of weights that `text` names: "8B", "1.5T", "500M", "7000000000". The units are decimal here, as models are
/// named. Throws Error for anything else.
std::uint64_t parse_parameters(std::string_view text);

std::string format_gib(std::uint64_t bytes);       ///< "9.2 GiB"
std::string format_mib(std::uint64_t bytes);       ///< "4403 MiB"
std::string format_exact_mib(std::uint64_t bytes); ///< "4403.49 MiB", as llama.cpp's log prints buffers

/// In the unit that suits: "512 B", "128 KiB", "258.5 MiB", "9.2 GiB". One decimal from GiB on, below that only where
/// it says something.
std::string format_bytes(std::uint64_t bytes);

/// Throws the Error of arithmetic that leaves 64 bits: `what` is too large.
[[noreturn]] void throw_too_large(std::string_view what);

/// a * b, or Error where that is more than 64 bits hold.
inline std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what = "a size") {
    if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) {
        throw_too_large(what);
    }
    return a * b;
}

/// a + b, or Error where that is more than 64 bits hold.
inline std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view what = "a size") {
    if (a > std::numeric_limits<std::uint64_t>::max() - b) {
        throw_too_large(what);
    }
    return a + b;
}

/// `size` rounded up to a multiple of `alignment` (1 or more; ggml's GGML_PAD, for any alignment).
inline std::uint64_t pad(std::uint64_t size, std::uint64_t alignment) {
    const std::uint64_t rest = size % alignment;
    return rest == 0 ? size : checked_add(size, alignment - rest);
}

} // namespace vramfit
