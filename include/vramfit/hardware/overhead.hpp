#pragma once

#include "vramfit/hardware/device.hpp"

#include <cstdint>
#include <string>

namespace vramfit {

/// What a device loses beside the model, in bytes: the share that the driver keeps of the total, and the context that
/// a process must have there (CUDA's libraries and kernels). Both are typical values with the range that was seen, from
/// data/overheads.json; the driver's share of a named card is measured where the catalog knows it.
struct Overhead {
    std::uint64_t driver = 0;
    std::uint64_t context = 0;
    std::uint64_t low = 0;  ///< least that driver and context together were seen to take
    std::uint64_t high = 0; ///< most
    std::string basis_text; ///< "driver 354 MiB (measured), context 300 MiB (typical, 110 to 550 seen)"

    std::uint64_t sum() const { return driver + context; }
};

/// The overhead on `device`. Where its free memory is given, the driver has already taken its share.
Overhead overhead_of(const Device& device);

/// What macOS lets Metal use of a Mac's `memory` by the older rule: two thirds, three quarters from 36 GiB on. For
/// sizes that the catalog has no measured figure for.
std::uint64_t metal_working_set(std::uint64_t memory);

} // namespace vramfit
