#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"

using namespace vramfit;

namespace {

Overhead overhead_on(const char* spec) { return overhead_of(parse_gpu_spec(spec).front()); }

} // namespace

TEST_CASE("a size loses the typical driver share and a context") {
    const Overhead overhead = overhead_on("24GB");
    CHECK(overhead.driver == 450 * mib);
    CHECK(overhead.context == 300 * mib);
    CHECK(overhead.sum() == 750 * mib);
    CHECK(overhead.low == (60 + 110) * mib);
    CHECK(overhead.high == (500 + 550) * mib);
    CHECK(overhead.basis_text ==
          "driver 450 MiB (typical, 60 to 500 seen), context 300 MiB (typical, 110 to 550 seen)");
}

TEST_CASE("above 48 GiB the driver keeps more") {
    CHECK(overhead_on("48GB").driver == 450 * mib);
    CHECK(overhead_on("49153MiB").driver == 750 * mib);
    CHECK(overhead_on("80GB").driver == 750 * mib);
}

TEST_CASE("a named card loses what was measured of it") {
    const Overhead overhead = overhead_on("rtx4090");
    CHECK(overhead.driver == 354 * mib); // nvidia-smi 24564, CUDA on Linux 24210
    CHECK(overhead.context == 300 * mib);
    CHECK(overhead.low == (354 + 110) * mib);
    CHECK(overhead.high == (354 + 550) * mib);
    CHECK(overhead.basis_text == "driver 354 MiB (measured), context 300 MiB (typical, 110 to 550 seen)");
    CHECK(overhead_on("rtx3090").driver == 453 * mib);
    CHECK(overhead_on("b200").driver == 726 * mib);    // 183359 - 182633
    CHECK(overhead_on("rtx3060").driver == 450 * mib); // CUDA's total is not known
    CHECK(overhead_on("h200").driver == 750 * mib);
}

TEST_CASE("free memory is counted without the driver's share") {
    Device device = parse_gpu_spec("rtx4090").front();
    device.free = 20 * gib;
    const Overhead overhead = overhead_of(device);
    CHECK(overhead.driver == 0);
    CHECK(overhead.context == 300 * mib);
    CHECK(overhead.basis_text == "context 300 MiB (typical, 110 to 550 seen)");
}

TEST_CASE("Metal's working set loses nothing more") {
    const Overhead overhead = overhead_on("m3-max-64gb");
    CHECK(overhead.sum() == 0);
    CHECK(overhead.low == 0);
    CHECK(overhead.high == 64 * mib);
}

TEST_CASE("ROCm pays a context too") { CHECK(overhead_on("rx7900xtx").context == 300 * mib); }

TEST_CASE("the older working set rule of macOS gives what was measured") {
    // recommendedMaxWorkingSetSize in llama.cpp's Metal log
    CHECK(metal_working_set(8 * gib) == 5461 * mib);
    CHECK(metal_working_set(16 * gib) == 10922 * mib);
    CHECK(metal_working_set(24 * gib) == 16384 * mib);
    CHECK(metal_working_set(64 * gib) == 49152 * mib);
    CHECK(metal_working_set(192 * gib) == 147456 * mib);
}

TEST_CASE("the overhead of every GPU lies in its range") {
    for (const GpuInfo& gpu : all_gpus()) {
        if (gpu.kind == "integrated") continue;
        for (const Device& device : devices_of(gpu)) {
            INFO(gpu.id);
            const Overhead overhead = overhead_of(device);
            CHECK(overhead.low <= overhead.sum());
            CHECK(overhead.sum() <= overhead.high);
        }
    }
}
