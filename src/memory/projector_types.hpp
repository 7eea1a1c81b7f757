#pragma once

#include "vramfit/memory/projector.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramfit {

/// How llama.cpp plans a kind of encoder that takes images of any size (data/projectors.json, "types").
struct ProjectorType {
    std::uint64_t merge = 1;         ///< patches a side that become one token
    std::uint64_t warmup_tokens = 0; ///< of the image that it plans with
    std::uint64_t most_tokens = 0;   ///< of the largest image; 0: no cap, or none known
    bool windows = false;
};

/// Nothing for a kind that plans with the file's own image size.
std::optional<ProjectorType> projector_type(std::string_view type);

/// Sets the size of the planned image, and of the largest, as `type` has them.
void apply(const ProjectorType& type, Encoder& encoder);

} // namespace vramfit
