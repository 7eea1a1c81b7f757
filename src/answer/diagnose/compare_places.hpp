#pragma once

#include "log_facts.hpp"

#include "vramfit/memory/estimate.hpp"

#include <array>
#include <map>

namespace vramfit {

inline constexpr std::array buffer_kinds{BufferKind::weights, BufferKind::kv_cache, BufferKind::recurrent_state,
                                         BufferKind::compute, BufferKind::output};

std::string_view name_of(BufferKind kind); ///< "kv_cache"
std::uint64_t part_of(const HostMemory& memory, BufferKind kind);

/// What a log shows of one part of the memory of a place.
struct LoggedPart {
    std::uint64_t bytes = 0;
    std::uint64_t line = 0;     ///< of the first figure of it
    std::uint64_t rounding = 0; ///< by which its figures may be off
    bool with_state = false;    ///< the cache counts recurrent state, too
};

/// A device of the load, or the computer's own memory.
struct LoggedPlace {
    std::string name; ///< "CUDA0"; "host"
    std::map<BufferKind, LoggedPart> parts;

    std::optional<LoggedPart> part(BufferKind kind) const;
};

/// The places in the order in which llama.cpp counts its devices, the host last. Buffers count; where there are none,
/// the table that llama.cpp prints when it ends.
std::vector<LoggedPlace> logged_places(const Load& load);

} // namespace vramfit
