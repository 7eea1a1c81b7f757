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

    static constexpr std::size_t least_length = 6;

    /// Calls `found(keyword, position)` for every place where a keyword stands, from left to right.
    template <typename Found>
    void each(std::string_view text, Found found) const {
        const char* const bytes = text.data(); // locals: nothing that `found` does can change them
        const std::uint8_t* const shifts = shift_.data();
        const std::size_t end = text.size();
        for (std::size_t i = least_length - 2; i + 2 <= end;) {
            const std::size_t pair = pair_at(bytes + i);
            if (shifts[pair] > 0) {
                i += shifts[pair];
                continue;
            }
            const std::size_t start = i + 2 - least_length;
            const std::uint32_t head = head_at(bytes + start);
            const Candidate* const last = candidates_.data() + first_[slot_[pair] + 1];
            for (const Candidate* candidate = candidates_.data() + first_[slot_[pair]]; candidate != last;
                 ++candidate) {
                if (candidate->head == head && text.substr(start).starts_with(keywords_[candidate->keyword]))
                    found(candidate->keyword, start);
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

    static std::uint32_t head_at(const char* bytes) {
        std::uint32_t head = 0;
        std::memcpy(&head, bytes, sizeof head);
        return head;
    }

    /// A keyword and its first bytes, which rule out most places without a look at the rest.
    struct Candidate {
        std::uint32_t head = 0;
        std::uint16_t keyword = 0;
    };

    std::vector<std::string_view> keywords_;
    std::vector<std::uint8_t> shift_;   ///< by pair of bytes
    std::vector<std::uint16_t> slot_;   ///< by pair of bytes whose shift is 0: index into first_
    std::vector<std::uint16_t> first_;  ///< into candidates_, where the keywords of a slot begin
    std::vector<Candidate> candidates_; ///< by slot
};

} // namespace vramfit
