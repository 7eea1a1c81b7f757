#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace vramfit {

/// Finds many keywords in a text at once (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994): two
/// bytes of the text tell how far the next keyword can be at least, so that most of the text is skipped.
class KeywordSearch {
public:
    /// Every keyword has `least_length` bytes or more.
    explicit KeywordSearch(std::span<const std::string_view> keywords);

    static constexpr std::size_t least_length = 5;

    /// Calls `found(keyword, position)` for every place where a keyword stands, from left to right.
    template <typename Found>
    void each(std::string_view text, Found found) const {
        for (std::size_t i = least_length - 2; i + 2 <= text.size();) {
            const std::size_t pair = pair_at(text.data() + i);
            if (shift_[pair] > 0) {
                i += shift_[pair];
                continue;
            }
            const std::size_t start = i + 2 - least_length;
            for (std::size_t k = first_[slot_[pair]]; k < first_[slot_[pair] + 1]; ++k) {
                if (text.substr(start).starts_with(keywords_[order_[k]])) found(order_[k], start);
            }
            ++i;
        }
    }

private:
    static std::size_t pair_at(const char* bytes) {
        std::uint16_t pair = 0;
        std::memcpy(&pair, bytes, sizeof pair);
        return pair;
    }

    std::vector<std::string_view> keywords_;
    std::vector<std::uint8_t> shift_;  ///< by pair of bytes
    std::vector<std::uint16_t> slot_;  ///< by pair of bytes whose shift is 0: index into first_
    std::vector<std::uint16_t> first_; ///< into order_, where the keywords of a slot begin
    std::vector<std::uint16_t> order_; ///< keywords by slot
};

} // namespace vramfit
