#include "vramfit/base/bytes.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace vramfit {
namespace {

constexpr std::string_view decimal = "0123456789";
constexpr std::uint64_t most_tokens = 0x7FFFFFFF;
constexpr std::uint64_t most_parameters = 1'000'000'000'000'000; // of models' weights

/// A number as written, cut into its parts: "1.5 GiB" is whole "1", fraction "5", unit "gib".
struct WrittenNumber {
    std::string_view whole;
    std::string_view fraction;
    bool has_point = false;
    std::string unit; // lower case
};

/// The digits at the head of `text`, taken off it.
std::string_view take_digits(std::string_view& text) {
    const std::size_t end = text.find_first_not_of(decimal);
    const std::string_view digits = text.substr(0, end);
    text.remove_prefix(digits.size());
    return digits;
}

/// Nothing where `text` does not begin with a plain number.
std::optional<WrittenNumber> split_number(std::string_view text) {
    WrittenNumber number;
    std::string_view rest = trimmed(text);
    number.whole = take_digits(rest);
    if (number.whole.empty()) {
        return std::nullopt;
    }
    if (!rest.empty() && rest.front() == '.') {
        rest.remove_prefix(1);
        number.has_point = true;
        number.fraction = take_digits(rest);
        if (number.fraction.empty()) {
            return std::nullopt;
        }
    }
    number.unit = lower(trimmed(rest));
    return number;
}

/// The value of `digits`, or nothing above `most`.
std::optional<std::uint64_t> value_of(std::string_view digits, std::uint64_t most) {
    std::uint64_t value = 0;
    for (const char c : digits) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (most - digit) / 10) {
            return std::nullopt;
        }
        value = value * 10 + digit;
    }
    return value;
}

/// unit x 0.fraction, rounded down. Horner's rule from the last digit: nested floors equal the floor of the whole.
std::uint64_t part_of(std::uint64_t unit, std::string_view fraction) {
    std::uint64_t part = 0;
    for (std::size_t i = fraction.size(); i-- > 0;) {
        part = (static_cast<std::uint64_t>(fraction[i] - '0') * unit + part) / 10;
    }
    return part;
}

std::optional<std::uint64_t> unit_of(std::string_view name) {
    struct Unit {
        std::string_view letter, decimal_style, binary_style;
        std::uint64_t bytes;
    };
    static constexpr std::array<Unit, 5> units{{
        {"b", "byte", "bytes", 1},
        {"k", "kb", "kib", kib},
        {"m", "mb", "mib", mib},
        {"g", "gb", "gib", gib},
        {"t", "tb", "tib", tib},
    }};
    if (name.empty()) {
        return gib;
    }
    for (const Unit& unit : units) {
        if (name == unit.letter || name == unit.decimal_style || name == unit.binary_style) {
            return unit.bytes;
        }
    }
    return std::nullopt;
}

/// Of numbers of weights.
std::optional<std::uint64_t> decimal_unit_of(std::string_view name) {
    if (name.empty()) return 1;
    if (name == "m") return 1'000'000;
    if (name == "b") return 1'000'000'000;
    return name == "t" ? std::optional<std::uint64_t>(1'000'000'000'000) : std::nullopt;
}

[[noreturn]] void throw_bad_size(std::string_view text, const std::string& why) {
    throw Error(quote(text) + " is not a size" + why + "; write it like 24GB, 24564MiB or 1.5GiB");
}

[[noreturn]] void throw_bad_context(std::string_view text, const std::string& why) {
    throw Error(quote(text) + " is not a context size" + why + "; write tokens like 32768, 32k, or max");
}

/// bytes / unit with `decimals` places, rounded half up, in integers so that every platform prints the same.
std::string fixed(std::uint64_t bytes, std::uint64_t unit, unsigned decimals) {
    std::uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; ++i) {
        scale *= 10;
    }
    std::uint64_t whole = bytes / unit;
    std::uint64_t places = (bytes % unit * scale + unit / 2) / unit;
    whole += places / scale;
    places %= scale;
    std::string text = std::to_string(whole);
    if (decimals > 0) {
        const std::string digits = std::to_string(places);
        text += "." + std::string(decimals - digits.size(), '0') + digits;
    }
    return text;
}

/// Whether `bytes`, rounded to tenths of `unit`, still is less than 1024 of them.
bool suits(std::uint64_t bytes, std::uint64_t unit) { return bytes < 1024 * unit - unit / 20; }

std::string without_zero(std::string text) {
    if (text.size() > 2 && text.compare(text.size() - 2, 2, ".0") == 0) {
        text.resize(text.size() - 2);
    }
    return text;
}

} // namespace

std::uint64_t parse_size(std::string_view text) {
    const std::optional<WrittenNumber> number = split_number(text);
    if (!number) {
        const std::string_view given = trimmed(text);
        throw_bad_size(text, !given.empty() && given.front() == '-' ? ": it is negative" : "");
    }
    const std::optional<std::uint64_t> unit = unit_of(number->unit);
    if (!unit) {
        throw_bad_size(text, ": the unit " + quote(number->unit) + " is not known");
    }
    const std::optional<std::uint64_t> whole = value_of(number->whole, largest_size / *unit);
    const std::uint64_t bytes = whole ? *whole * *unit + part_of(*unit, number->fraction) : 0;
    if (!whole || bytes > largest_size) {
        throw_bad_size(text, number->unit.empty() ? ": it is too large (a number without a unit is GB)"
                                                  : ": it is too large");
    }
    return bytes;
}

std::uint64_t parse_tokens(std::string_view text) {
    const std::string_view given = trimmed(text);
    if (lower(given) == "max") {
        return 0;
    }
    const std::optional<WrittenNumber> number = split_number(given);
    if (!number) {
        throw_bad_context(text, !given.empty() && given.front() == '-' ? ": it is negative" : "");
    }
    if (number->has_point) {
        throw_bad_context(text, ": it has a fraction");
    }
    const bool thousands = number->unit == "k";
    if (!thousands && number->unit != "m" && !number->unit.empty()) {
        throw_bad_context(text, ": " + quote(number->unit) + " is neither k nor M");
    }
    const std::uint64_t unit = number->unit.empty() ? 1 : thousands ? kib : mib;
    const std::optional<std::uint64_t> count = value_of(number->whole, most_tokens / unit);
    if (!count) {
        throw_bad_context(text, ": it is more than 2147483647");
    }
    return *count * unit;
}

std::uint64_t parse_parameters(std::string_view text) {
    const std::optional<WrittenNumber> number = split_number(text);
    const std::string unit_name = number ? number->unit : "none";
    const std::optional<std::uint64_t> unit = decimal_unit_of(unit_name);
    const std::optional<std::uint64_t> whole =
        unit ? value_of(number->whole, most_parameters / *unit) : std::optional<std::uint64_t>();
    if (!whole) throw Error(quote(text) + " is not a number of parameters; write it like 8B, 500M or 1.5T");
    return *whole * *unit + part_of(*unit, number->fraction);
}

std::string format_gib(std::uint64_t bytes) { return fixed(bytes, gib, 1) + " GiB"; }

std::string format_mib(std::uint64_t bytes) { return fixed(bytes, mib, 0) + " MiB"; }

std::string format_exact_mib(std::uint64_t bytes) { return fixed(bytes, mib, 2) + " MiB"; }

std::string format_bytes(std::uint64_t bytes) {
    if (bytes < kib) {
        return std::to_string(bytes) + " B";
    }
    if (suits(bytes, kib)) {
        return without_zero(fixed(bytes, kib, 1)) + " KiB";
    }
    if (suits(bytes, mib)) {
        return without_zero(fixed(bytes, mib, 1)) + " MiB";
    }
    return suits(bytes, gib) ? format_gib(bytes) : fixed(bytes, tib, 1) + " TiB";
}

void throw_too_large(std::string_view what) {
    throw Error(std::string(what) + " is too large: it does not fit 64 bits");
}

} // namespace vramfit
