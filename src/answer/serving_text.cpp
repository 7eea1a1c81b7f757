#include "serving_text.hpp"

#include "vramfit/base/bytes.hpp"

#include <fmt/format.h>

namespace vramfit {

std::string two_digits(std::uint64_t bytes) {
    return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(gib));
}

std::string share_text(double share) { return fmt::format("{:g}", share); }

} // namespace vramfit
