#include "keyword_search.hpp"

#include <algorithm>
#include <cassert>

namespace vramfit {

KeywordSearch::KeywordSearch(std::span<const std::string_view> keywords)
    : keywords_(keywords.begin(), keywords.end()),
      shift_(1U << 16U, least_length - 1),
      slot_(1U << 16U, 0) {
    candidates_.reserve(keywords_.size());
    std::vector<std::vector<std::uint16_t>> slots;
    for (std::size_t k = 0; k < keywords_.size(); ++k) {
        assert(keywords_[k].size() >= least_length);
        for (std::size_t at = 0; at + 2 <= least_length; ++at) {
            std::uint8_t& shift = shift_[pair_at(keywords_[k].data() + at)];
            shift = std::min(shift, static_cast<std::uint8_t>(least_length - 2 - at));
        }
        const std::size_t last = pair_at(keywords_[k].data() + least_length - 2);
        if (slot_[last] == 0) {
            slots.emplace_back();
            slot_[last] = static_cast<std::uint16_t>(slots.size()); // 0 is the slot of nothing
        }
        slots[slot_[last] - 1U].push_back(static_cast<std::uint16_t>(k));
    }
    first_.assign(2, 0);
    for (const auto& slot : slots) {
        for (const std::uint16_t keyword : slot) candidates_.push_back({head_at(keywords_[keyword].data()), keyword});
        first_.push_back(static_cast<std::uint16_t>(candidates_.size()));
    }
}

} // namespace vramfit
