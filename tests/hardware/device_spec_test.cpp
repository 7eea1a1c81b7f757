#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/hardware/device.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace vramfit;

namespace {

std::string spec_error(std::string_view spec) {
    try {
        parse_gpu_spec(spec);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

Device only(std::string_view spec) {
    const std::vector<Device> devices = parse_gpu_spec(spec);
    REQUIRE(devices.size() == 1);
    return devices.front();
}

} // namespace

TEST_CASE("a size is a device of that size") {
    CHECK(only("24GB").total == 25769803776ULL);
    CHECK(only("24GB").name == "24GB");
    CHECK(only("24GB").kind == Device::Kind::generic);
    CHECK_FALSE(only("24GB").driver_share.has_value());
    CHECK_FALSE(only("24GB").free.has_value());
    CHECK(only("24564MiB").total == 25757220864ULL);
    CHECK(only(" 1.5 GiB ").total == 1610612736ULL);
}

TEST_CASE("a bare number is GB and named so") {
    CHECK(only("24").total == 25769803776ULL);
    CHECK(only("24").name == "24GB");
}

TEST_CASE("a named card has its reported total and its measured driver share") {
    const Device card = only("RTX 4090");
    CHECK(card.name == "rtx4090");
    CHECK(card.description == "NVIDIA GeForce RTX 4090");
    CHECK(card.kind == Device::Kind::cuda);
    CHECK(card.total == 24564 * mib);
    REQUIRE(card.driver_share.has_value());
    CHECK(*card.driver_share == 354 * mib);                  // 24564 - 24210
    CHECK(*only("a100-80gb-sxm").driver_share == 769 * mib); // 81920 - 81151
}

TEST_CASE("a named card without a reported total has its nominal one") {
    const Device card = only("rtx5090d");
    CHECK(card.total == 32 * gib);
    CHECK_FALSE(card.driver_share.has_value());
    const Device old = only("gtx1080"); // nominal 8192, CUDA on Linux offers 8110
    CHECK(old.total == 8 * gib);
    CHECK(old.driver_share == 82 * mib);
}

TEST_CASE("a Mac's total is Metal's working set") {
    const Device mac = only("m3-max-64gb");
    CHECK(mac.kind == Device::Kind::metal);
    CHECK(mac.unified);
    CHECK(mac.total == 53084 * mib);
    CHECK_FALSE(mac.driver_share.has_value());
    CHECK(mac.note == "older macOS releases let the GPU use 48.0 GiB of this memory");
    CHECK(only("m3-max-96gb").total == 73728 * mib); // not measured: 96 GiB x 3/4
    CHECK(only("m3-pro-18gb").total == 12288 * mib); // not measured: 18 GiB x 2/3
}

TEST_CASE("how the memory of other vendors' devices is reached") {
    CHECK(only("rx7900xtx").kind == Device::Kind::rocm);
    CHECK(only("rx7900xtx").total == 24560 * mib);
    CHECK(only("rx6500xt").kind == Device::Kind::vulkan);
    CHECK(only("arc-b580").kind == Device::Kind::vulkan);
    CHECK(only("gb10").kind == Device::Kind::cuda);
    CHECK(*only("gb10").driver_share == 6462 * mib); // 131072 - 124610
    CHECK_FALSE(only("ryzen-ai-max-395-128gb").note.empty());
}

TEST_CASE("a card that runtimes see as two devices is two devices") {
    const std::vector<Device> halves = parse_gpu_spec("mi250x");
    REQUIRE(halves.size() == 2);
    CHECK(halves[0].total == 64 * gib);
    CHECK(parse_gpu_spec("4x mi250x").size() == 8);
}

TEST_CASE("several devices of one kind") {
    CHECK(parse_gpu_spec("2x24GB").size() == 2);
    CHECK(parse_gpu_spec("2 x 24GB")[1].total == 25769803776ULL);
    CHECK(parse_gpu_spec("2X24")[1].name == "24GB");
    CHECK(parse_gpu_spec("2xrtx3090")[1].total == 24576 * mib);
    CHECK(parse_gpu_spec("3x RTX 3090").size() == 3);
    CHECK(parse_gpu_spec("64x24GB").size() == 64);
    CHECK(parse_gpu_spec("2x 7900xtx").size() == 2);
}

TEST_CASE("a name of cards with several sizes says which one it is taken for") {
    CHECK(only("rtx3060").name == "rtx3060-12gb");
    CHECK(only("RTX 3060").note == "that is what \"RTX 3060\" is taken for; rtx3060-8gb would be another");
    CHECK(only("rtx3060-12gb").note.empty());
    CHECK(only("rtx4090").note.empty());
}

TEST_CASE("a name with an x after digits is not a count") {
    CHECK(only("7900xtx").name == "rx7900xtx");
    CHECK(only("9070 XT").name == "rx9070xt");
    CHECK(spec_error("7900xtz").find("unknown GPU \"7900xtz\"; did you mean rx7900xt") == 0);
}

TEST_CASE("counts outside of 1 to 64 are refused") {
    CHECK(spec_error("0x24GB") == "\"0x24GB\" asks for 0 GPUs; give 1 to 64, like 2x24GB");
    CHECK(spec_error("65x24GB") == "\"65x24GB\" asks for more than 64 GPUs; give 1 to 64, like 2x24GB");
    CHECK(spec_error("1000x24GB") == "\"1000x24GB\" asks for more than 64 GPUs; give 1 to 64, like 2x24GB");
    CHECK(spec_error("99999999999999999999x24GB") ==
          "\"99999999999999999999x24GB\" asks for more than 64 GPUs; give 1 to 64, like 2x24GB");
    CHECK(spec_error("0x10") == "\"0x10\" asks for 0 GPUs; give 1 to 64, like 2x24GB");
    CHECK(spec_error("2x2x24GB") != "accepted");
    CHECK(spec_error("2x") == "\"2x\" does not say which GPUs; write it like 2x24GB or 2xrtx3090");
    CHECK(spec_error("-2x24GB") != "accepted");
}

TEST_CASE("what is no device says what would be one") {
    CHECK(spec_error("") == "the GPU is empty; give a size such as 24GB, or a name such as rtx4090");
    CHECK(spec_error("0GB") == "a GPU of \"0GB\" has no memory; give its size, such as 24GB");
    CHECK(spec_error("24 bananas") ==
          "\"24 bananas\" is not a size: the unit \"bananas\" is not known; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(spec_error("-24GB") == "\"-24GB\" is not a size: it is negative; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(spec_error("24GB,16GB") == "\"24GB,16GB\" is a list; give --gpu once for each device");
    CHECK(spec_error("2 x auto") == "auto stands for all GPUs of this machine, and by itself: --gpu auto");
    CHECK(spec_error("auto") == spec_error("2 x auto")); // it is no description of devices, see detect.hpp
    CHECK(spec_error("radeon-780m") == "the GPU radeon-780m uses the computer's memory, which the catalog cannot "
                                       "know; give the size that it may use, such as 8GB");
}

TEST_CASE("a mistyped model number is not a size of thousands of GB") {
    CHECK(spec_error("4091").find("unknown GPU \"4091\"; did you mean ") == 0);
    CHECK(only("4090").name == "rtx4090");
}

TEST_CASE("every GPU of the catalog is a device, but for those without memory of their own") {
    for (const GpuInfo& gpu : all_gpus()) {
        INFO(gpu.id);
        if (gpu.kind == "integrated") {
            CHECK_THROWS_AS(devices_of(gpu), Error);
            continue;
        }
        for (const Device& device : devices_of(gpu)) {
            CHECK(device.total >= 2 * gib);
            CHECK(device.driver_share.value_or(0) < device.total / 8);
        }
        CHECK(parse_gpu_spec(gpu.id).front().name == gpu.id);
    }
}

TEST_CASE("a size is shown in one spelling") {
    CHECK(only("000000024GB").name == "24GB");
    CHECK(only("\t24 \t GiB").name == "24GB");
    CHECK(only("24576 mib").name == "24GB");
    CHECK(only("24564MiB").name == "24564MiB");
    CHECK(only("1.5 GiB").name == "1536MiB");
    CHECK(only("1T").name == "1024GB");
    CHECK(only("4194305KiB").name == "4194305KiB");
    CHECK(only("4294967297B").name == "4294967297B");
}

TEST_CASE("a size that is none says why") {
    CHECK(spec_error("24XB") ==
          "\"24XB\" is not a size: the unit \"xb\" is not known; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(spec_error("24564") == "\"24564\" is too large for a GPU: a number without a unit is GB; write it like 24GB, "
                                 "24564MiB or 1.5GiB");
    CHECK(spec_error("17TB") == "\"17TB\" is too large for a GPU; write it like 24GB, 24564MiB or 1.5GiB");
    CHECK(only("16TB").total == 16 * tib);
    CHECK(spec_error("2147483647") == "\"2147483647\" is too large for a GPU: a number without a unit is GB; write it "
                                      "like 24GB, 24564MiB or 1.5GiB");
}
