#include "catch.hpp"
#include "hardware/fake_machine.hpp"
#include "support/errors.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/overhead.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// The machine of that name under CUDA_VISIBLE_DEVICES.
Detection seen(const std::string& machine, const std::string& visible) {
    return detect_devices(FakeMachine(machine).set("CUDA_VISIBLE_DEVICES", visible).machine());
}

/// Which cards of h100x8 are seen: number 3 is the only one in use, the others differ in nothing but their order.
std::size_t count_seen(const std::string& visible) { return seen("h100x8", visible).devices.size(); }

std::string error_with(const ProgramOutput& output) {
    return error_of([&] { detect_devices(FakeMachine("rtx4090").says("nvidia-smi --query-gpu=", output).machine()); });
}

std::string error_with_line(const std::string& line) {
    const FakeMachine machine = FakeMachine("rtx4090").says("nvidia-smi --query-gpu=", {true, false, 0, line, ""});
    return error_of([&] { detect_devices(machine.machine()); });
}

constexpr const char* by_hand = "; give the GPU by its size or name instead, such as --gpu 24GB";

} // namespace

TEST_CASE("one NVIDIA card: total and free memory as nvidia-smi says, the catalog's id", "[detect]") {
    const Detection detection = detect_devices(FakeMachine("rtx4090").machine());
    REQUIRE(detection.devices.size() == 1);
    const Device& card = detection.devices.front();
    CHECK(card.name == "rtx4090");
    CHECK(card.description == "NVIDIA GeForce RTX 4090");
    CHECK(card.kind == Device::Kind::cuda);
    CHECK_FALSE(card.unified);
    CHECK(card.total == 24564 * mib);
    CHECK(card.free == 22630 * mib);
    CHECK(overhead_of(card).driver == 0); // what is free is so without the driver's share
    CHECK(detection.notes ==
          std::vector<std::string>{"this machine has NVIDIA GeForce RTX 4090, 22.1 of 24.0 GiB free"});
}

TEST_CASE("eight cards in the order of nvidia-smi", "[detect]") {
    const Detection detection = detect_devices(FakeMachine("h100x8").machine());
    REQUIRE(detection.devices.size() == 8);
    CHECK(detection.devices[7].name == "h100-80gb-sxm");
    CHECK(detection.devices[2].free == 81001 * mib);
    CHECK(detection.devices[3].free == 40211 * mib);
    CHECK(detection.notes.front() ==
          "this machine has 3 x NVIDIA H100 80GB HBM3, 79.1 of 79.6 GiB free; NVIDIA H100 80GB HBM3, 39.3 of 79.6 GiB "
          "free; 4 x NVIDIA H100 80GB HBM3, 79.1 of 79.6 GiB free");
}

TEST_CASE("CUDA_VISIBLE_DEVICES: indices, in their order, up to the first that is none", "[detect]") {
    const Detection two = seen("h100x8", "3,1");
    REQUIRE(two.devices.size() == 2);
    CHECK(two.devices[0].free == 40211 * mib);
    CHECK(two.devices[1].free == 81001 * mib);
    CHECK(two.notes[1] == "CUDA_VISIBLE_DEVICES leaves 2 of 8 NVIDIA GPUs visible");
    CHECK(count_seen("0,2,-1,1") == 2);
    CHECK(count_seen(" 0, 2 ") == 2);
    CHECK(count_seen("0,8,1") == 1);
    CHECK(count_seen("0,one") == 1);
    CHECK(count_seen("0,,1") == 1);
}

TEST_CASE("CUDA_VISIBLE_DEVICES: UUIDs and what begins one alone", "[detect]") {
    CHECK(seen("h100x8", "GPU-31b2c3d4-0000-4000-8000-000000000003").devices.front().free == 40211 * mib);
    CHECK(seen("h100x8", "gpu-3,0").devices.front().free == 40211 * mib);
    CHECK(count_seen("0,GPU-") == 1); // begins all of them
    CHECK(count_seen("0,GPU-9") == 1);
}

TEST_CASE("CUDA_VISIBLE_DEVICES that hides everything or counts twice is an error", "[detect]") {
    for (const char* const none : {"", "-1", "NoDevFiles", "8"})
        CHECK(error_of([&] { seen("h100x8", none); }) ==
              "CUDA_VISIBLE_DEVICES=\"" + std::string(none) + "\" hides every NVIDIA GPU of this machine" + by_hand);
    CHECK(contains(error_of([] { seen("h100x8", "1,1"); }),
                   "CUDA_VISIBLE_DEVICES=\"1,1\" names one GPU twice, and the driver then offers none"));
}

TEST_CASE("cards of different kinds: the fastest first, unless the order is that of the bus", "[detect]") {
    const Detection fastest = detect_devices(FakeMachine("mixed_cards").machine());
    CHECK(fastest.devices[0].name == "rtx4090");
    CHECK(fastest.devices[1].name == "rtx3060-12gb"); // two cards bear that name
    CHECK(contains(fastest.notes[1], "fastest first"));
    CHECK(seen("mixed_cards", "0").devices.front().name == "rtx4090");

    const FakeMachine bus = FakeMachine("mixed_cards").set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    const Detection ordered = detect_devices(bus.machine());
    CHECK(ordered.devices[0].name == "rtx3060-12gb");
    CHECK(ordered.notes.size() == 1);
}

TEST_CASE("MIG: a process gets one instance, the first or the one that is named", "[detect]") {
    const Detection first = detect_devices(FakeMachine("a100_mig").machine());
    REQUIRE(first.devices.size() == 1);
    CHECK(first.devices[0].name == "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
    CHECK(first.devices[0].total == 20096 * mib);
    CHECK(first.devices[0].free == 19072 * mib);
    CHECK(contains(first.notes[1], "CUDA gives a process one MIG instance and nothing else"));

    CHECK(seen("a100_mig", "MIG-ae9a37c7-4e38-5a4c-8229-7f07dc126721").devices[0].total == 4864 * mib);
    CHECK(seen("a100_mig", "MIG-ae9a37c7,MIG-e138a708").devices.size() == 1);
    CHECK(seen("a100_mig", "1").devices[0].total == 20096 * mib);
    CHECK(seen("a100_mig", "0").devices[0].name == "a100-40gb-sxm");
    CHECK(seen("a100_mig", "0").devices[0].total == 40960 * mib);
}

TEST_CASE("MIG: without the table an instance has the size of its profile", "[detect]") {
    const FakeMachine machine = FakeMachine("a100_mig").says("nvidia-smi", {true, false, 0, "something else\n", ""});
    const Detection detection = detect_devices(machine.machine());
    CHECK(detection.devices.front().total == 20 * gib);
    CHECK_FALSE(detection.devices.front().free.has_value());
}

TEST_CASE("MIG: a card in that mode without instances is no device", "[detect]") {
    const ProgramOutput none{true, false, 0, "GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-5c89852c)\n", ""};
    const FakeMachine machine = FakeMachine("a100_mig").says("nvidia-smi -L", none);
    const Detection whole = detect_devices(machine.machine());
    REQUIRE(whole.devices.size() == 1);
    CHECK(whole.devices[0].free == 40333 * mib);
    CHECK(contains(whole.notes[1], "is left out: it is in MIG mode and has no instance"));
    FakeMachine hidden = machine;
    hidden.set("CUDA_VISIBLE_DEVICES", "1");
    CHECK(contains(error_of([&] { detect_devices(hidden.machine()); }), "is in MIG mode and has no instance"));
}

TEST_CASE("boards whose GPU shares the computer's memory", "[detect]") {
    const Device spark = detect_devices(FakeMachine("gb10").machine()).devices.front();
    CHECK(spark.name == "gb10");
    CHECK(spark.unified);
    CHECK(spark.total == 122572 * mib); // 125513728 kB
    CHECK(spark.free == 110 * gib);
    const Device jetson = detect_devices(FakeMachine("jetson").machine()).devices.front();
    CHECK(jetson.name == "jetson-agx-orin-64gb");
    CHECK(jetson.total == 62828 * mib); // 64335872 kB
    CHECK(jetson.free == 55 * gib);
    CHECK(contains(error_of([] { detect_devices(FakeMachine("gb10").file("/proc/meminfo", "").machine()); }),
                   "nvidia-smi does not tell the memory of NVIDIA GB10, and /proc/meminfo neither"));
}

TEST_CASE("drivers that know of no MIG are asked without it", "[detect]") {
    const Device card = detect_devices(FakeMachine("old_driver").machine()).devices.front();
    CHECK(card.name == "v100-16gb-sxm2");
    CHECK(card.total == 16160 * mib);
    CHECK(card.free == 16000 * mib);
}

TEST_CASE("a driver that does not answer is an error in its own words", "[detect]") {
    CHECK(error_of([] { detect_devices(FakeMachine("driver_fails").machine()); }) ==
          std::string("nvidia-smi says \"NVIDIA-SMI has failed because it couldn't communicate with t...\"") + by_hand);
    CHECK(error_with({true, false, 18, "Failed to initialize NVML: Driver/library version mismatch\n", ""}) ==
          std::string("nvidia-smi says \"Failed to initialize NVML: Driver/library version mismatch\"") + by_hand);
    CHECK(error_with({true, false, 139, "", ""}) == std::string("nvidia-smi fails with exit code 139") + by_hand);
    CHECK(error_with({true, true, 137, "", ""}) == std::string("nvidia-smi does not answer") + by_hand);
    CHECK(error_with({true, false, 1, "", "\x1b[31mred\n"}) ==
          std::string("nvidia-smi says \"?[31mred\"") + by_hand); // nothing that a terminal would obey
}

TEST_CASE("no device and no driver", "[detect]") {
    const std::string none = "no GPU was found on this machine (nvidia-smi finds none, no AMD GPU and no Intel GPU)";
    CHECK(error_with({true, false, 6, "No devices were found\n", ""}) == none + by_hand);
    CHECK(error_with({}) ==
          "no GPU was found on this machine (nvidia-smi is not installed, no AMD GPU and no Intel GPU)" +
              std::string(by_hand));
    FakeMachine without("rtx4090");
    without.says("nvidia-smi --query-gpu=", {}).file("/sys/class/drm/card0/device/vendor", "0x10de\n");
    CHECK(contains(error_of([&] { detect_devices(without.machine()); }),
                   "there is an NVIDIA GPU, but no nvidia-smi to ask: its driver is not installed"));
}

TEST_CASE("unreadable output names the line", "[detect]") {
    CHECK(error_with_line("hello\n") == std::string("nvidia-smi printed a line that is no GPU: \"hello\"") + by_hand);
    CHECK(contains(error_with_line("0, GPU-1, NVIDIA GeForce RTX 4090\n"), "printed a line that is no GPU"));
    CHECK(contains(error_with_line("x, GPU-1, NVIDIA GeForce RTX 4090, 24564, 22630, [N/A]\n"), "that is no GPU"));
    CHECK(error_with_line("0, GPU-1, NVIDIA GeForce RTX 4090, [GPU requires reset], 1, [N/A]\n") ==
          std::string("nvidia-smi gives no memory for GPU 0 but \"[GPU requires reset]\"") + by_hand);
    CHECK(contains(error_with_line("0, GPU-1, X, 18446744073709551615, 1, [N/A]\n"), "gives no memory for GPU 0"));
    CHECK(contains(error_with_line("0, GPU-1, X, 24564, -1, [N/A]\n"), "gives no memory for GPU 0 but \"-1\""));
}

TEST_CASE("what does not matter in nvidia-smi's output is forgiven", "[detect]") {
    const std::string lines = "\r\n0, GPU-1, Some, Inc. Card, 8192, 9000, [N/A]\r\n"
                              "WARNING: infoROM is corrupted at gpu 0000:02:00.0\r\n";
    const FakeMachine machine = FakeMachine("rtx4090").says("nvidia-smi --query-gpu=", {true, false, 0, lines, ""});
    const Detection detection = detect_devices(machine.machine());
    REQUIRE(detection.devices.size() == 1);
    CHECK(detection.devices[0].name == "Some, Inc. Card"); // not in the catalog
    CHECK(detection.devices[0].total == 8 * gib);
    CHECK(detection.devices[0].free == 8 * gib); // not more than there is
    const ProgramOutput nameless{true, false, 0, "0, , , 8192, 4096, [N/A]\n", ""};
    CHECK(detect_devices(FakeMachine("rtx4090").says("nvidia-smi --query-gpu=", nameless).machine()).devices[0].name ==
          "NVIDIA GPU");
}
