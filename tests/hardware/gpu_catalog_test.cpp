#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace vramfit;

namespace {

std::string id_of(std::string_view name) {
    try {
        return find_gpu(name).id;
    } catch (const Error& error) {
        return error.what();
    }
}

std::vector<std::string> ids_of(std::string_view name) {
    std::vector<std::string> ids;
    for (const GpuInfo& gpu : match_gpus(name)) {
        ids.push_back(gpu.id);
    }
    return ids;
}

} // namespace

TEST_CASE("a GPU's entry holds each interface's figure") {
    const GpuInfo gpu = find_gpu("rtx4090");
    CHECK(gpu.id == "rtx4090");
    CHECK(gpu.name == "NVIDIA GeForce RTX 4090");
    CHECK(gpu.vendor == "nvidia");
    CHECK(gpu.kind == "desktop");
    CHECK(gpu.nominal == 24 * gib);
    CHECK(gpu.total == 24564 * mib);              // nvidia-smi
    CHECK(gpu.cuda_total_linux == 24210 * mib);   // llama.cpp's start-up line
    CHECK(gpu.cuda_total_windows == 24563 * mib); // nvidia-smi's less 1
    CHECK_FALSE(gpu.vulkan_total.has_value());
    CHECK(gpu.devices == 1);
    CHECK_FALSE(gpu.unified);
    CHECK(gpu.compute_capability == "8.9");
    CHECK(gpu.bandwidth_gbps == 1008.0);
    CHECK(gpu.release_year == 2022);
    CHECK_FALSE(gpu.source.empty());
}

TEST_CASE("a Mac's entry holds both working sets that macOS releases gave it") {
    const GpuInfo mac = find_gpu("m3-max-64gb");
    CHECK(mac.unified);
    CHECK(mac.nominal == 64 * gib);
    CHECK(mac.metal_working_set == 53084 * mib);
    CHECK(mac.metal_working_set_older == 49152 * mib);
    CHECK_FALSE(mac.total.has_value());
}

TEST_CASE("GPU names forgive case, separators, the vendor and the memory behind") {
    for (const std::string_view name :
         {"rtx4090", "RTX 4090", "rtx-4090", "4090", "NVIDIA GeForce RTX 4090", "geforce rtx 4090", "nvidia rtx 4090",
          "NVIDIA 4090", "RTX_4090", "rtx 4090 24GB", "rtx4090-24gb"}) {
        INFO(name);
        CHECK(id_of(name) == "rtx4090");
    }
    CHECK(id_of("RX 7900 XTX") == "rx7900xtx");
    CHECK(id_of("Radeon 7900 XTX") == "rx7900xtx");
    CHECK(id_of("DGX Spark") == "gb10");
    CHECK(id_of("Apple M3 Max 64GB") == "m3-max-64gb");
    CHECK(id_of("m3 max 64 gb") == "m3-max-64gb");
    CHECK(id_of("Apple M3 Max (64 GB)") == "m3-max-64gb");
    CHECK(id_of("H100") == "h100-80gb-sxm");
}

TEST_CASE("an exact name wins over one that only reads alike") {
    CHECK(id_of("rtx3080") == "rtx3080-10gb"); // an alias of one; the driver's name belongs to both
    CHECK(id_of("rtx3060") == "rtx3060-12gb");
}

TEST_CASE("a name that fits several GPUs asks which") {
    CHECK(id_of("3080") == "the GPU name \"3080\" fits several: say rtx3080-10gb (10 GB) or rtx3080-12gb (12 GB)");
    CHECK(id_of("NVIDIA GeForce RTX 3080") ==
          "the GPU name \"NVIDIA GeForce RTX 3080\" fits several: say rtx3080-10gb (10 GB) or rtx3080-12gb (12 GB)");
    CHECK(ids_of("m3 max") ==
          std::vector<std::string>{"m3-max-36gb", "m3-max-48gb", "m3-max-64gb", "m3-max-96gb", "m3-max-128gb"});
    CHECK(ids_of("a100") ==
          std::vector<std::string>{"a100-40gb-pcie", "a100-40gb-sxm", "a100-80gb-pcie", "a100-80gb-sxm"});
    CHECK(ids_of("4060ti") == std::vector<std::string>{"rtx4060ti-8gb", "rtx4060ti-16gb"});
    CHECK(ids_of("RTX 6000") == std::vector<std::string>{"quadro-rtx-6000", "rtx6000-ada", "rtx-pro-6000-blackwell"});
}

TEST_CASE("the memory behind a name decides between several, and must be the GPU's") {
    CHECK(id_of("RTX 3080 12GB") == "rtx3080-12gb");
    CHECK(id_of("NVIDIA GeForce RTX 3080 10 GB") == "rtx3080-10gb");
    CHECK(ids_of("rtx 4090 48GB").empty());
    CHECK(ids_of("24GB").empty());
    CHECK(ids_of(" 24GB").empty());
    CHECK(ids_of("").empty());
}

TEST_CASE("an unknown GPU names those that come near") {
    CHECK(id_of("rtx4091").find("unknown GPU \"rtx4091\"; did you mean ") == 0);
    CHECK(id_of("rtx4091").find("rtx4090") != std::string::npos);
    CHECK(id_of("dgx sprak") == "unknown GPU \"dgx sprak\"; did you mean gb10?");
    CHECK(id_of("bananaphone") ==
          "unknown GPU \"bananaphone\"; give a name that 'vramfit gpus' lists, or a size such as 24GB");
    CHECK(id_of("a\nb").find('\n') == std::string::npos);
}

TEST_CASE("the catalog holds 291 devices, sorted by id") {
    const std::vector<GpuInfo> gpus = all_gpus();
    CHECK(gpus.size() >= 291);
    CHECK(std::is_sorted(gpus.begin(), gpus.end(), [](const GpuInfo& a, const GpuInfo& b) { return a.id < b.id; }));
}

TEST_CASE("every id finds its GPU, every name and alias finds it or asks") {
    for (const GpuInfo& gpu : all_gpus()) {
        INFO(gpu.id);
        CHECK(find_gpu(gpu.id).id == gpu.id);
        std::vector<std::string> names = gpu.aliases;
        names.push_back(gpu.name);
        for (const std::string& name : names) {
            INFO(name);
            const std::vector<std::string> ids = ids_of(name);
            CHECK(std::find(ids.begin(), ids.end(), gpu.id) != ids.end());
            if (ids.size() > 1) {
                CHECK(id_of(name).find("fits several") != std::string::npos);
                CHECK(id_of(name).find(gpu.id) != std::string::npos);
            }
        }
    }
}

TEST_CASE("the figures of every GPU fit together") {
    const std::set<std::string> vendors{"nvidia", "amd", "apple", "intel", "qualcomm"};
    const std::set<std::string> kinds{"desktop", "laptop", "workstation", "datacenter", "unified", "integrated"};
    for (const GpuInfo& gpu : all_gpus()) {
        INFO(gpu.id);
        CHECK(vendors.count(gpu.vendor) == 1);
        CHECK(kinds.count(gpu.kind) == 1);
        CHECK_FALSE(gpu.source.empty());
        const std::uint64_t limit = gpu.nominal.value_or(1024 * gib);
        // ECC on GDDR costs a sixteenth; b300 and b200 are sold under several sizes.
        CHECK(gpu.total.value_or(limit) <= limit + limit / 16);
        CHECK((!gpu.nominal || gpu.total.value_or(limit) >= limit / 16 * 14));
        CHECK(gpu.cuda_total_linux.value_or(0) <= gpu.total.value_or(limit));
        CHECK(gpu.cuda_total_windows.value_or(0) <= gpu.total.value_or(limit));
        CHECK(gpu.metal_working_set.value_or(0) <= limit);
        CHECK(gpu.metal_working_set_older.value_or(0) <= gpu.metal_working_set.value_or(0));
        CHECK(gpu.nominal.has_value() == (gpu.kind != "integrated" && gpu.id != "gb200" && gpu.id != "gb300"));
    }
}

TEST_CASE("no name of the catalog reads as a size, but for four-digit model numbers") {
    for (const GpuInfo& gpu : all_gpus()) {
        for (const std::string& alias : gpu.aliases) {
            INFO(alias);
            const bool number = alias.find_first_not_of("0123456789") == std::string::npos;
            if (number) {
                CHECK(alias.size() == 4);
            } else {
                CHECK_THROWS_AS(parse_size(alias), Error);
            }
        }
    }
}
