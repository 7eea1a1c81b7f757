#include "vramfit/model/check_counts.hpp"

#include "vramfit/base/error.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace vramfit {
namespace {

/// What a key may hold, for each layer.
struct Range {
    std::string_view key;
    std::uint64_t least, most;
};

constexpr std::array ranges{
    Range{"block_count", 1, 4096},
    Range{"context_length", 1, 2147483647}, // positions have 32 bits
    Range{"embedding_length", 1, 1048576},
    Range{"vocab_size", 1, 16777216},
    Range{"feed_forward_length", 0, 16777216},
    Range{"attention.head_count", 0, 65536},
    Range{"attention.head_count_kv", 0, 65536},
    Range{"attention.key_length", 0, 65536},
    Range{"attention.value_length", 0, 65536},
    Range{"expert_count", 0, 65536},
    Range{"expert_used_count", 0, 65536},
};

} // namespace

void check_counts(const Hparams& hparams, std::string_view prefix) {
    for (const Range& range : ranges) {
        const Hparams::Value* const value = hparams.find(range.key);
        if (value == nullptr) continue;
        for (const double number : *value) {
            const bool good = number >= static_cast<double>(range.least) && number <= static_cast<double>(range.most) &&
                              number == std::floor(number);
            if (!good)
                throw Error(std::string(prefix) + std::string(range.key) + " is out of range: a whole number from " +
                            std::to_string(range.least) + " to " + std::to_string(range.most) + " would be right");
        }
    }
}

} // namespace vramfit
