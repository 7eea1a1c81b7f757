#include "catch.hpp"
#include "hardware/fake_machine.hpp"
#include "support/errors.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/detect.hpp"

#include <chrono>

using namespace vramfit;
using namespace vramfit::test;

namespace {

Detection found(const FakeMachine& machine) { return detect_devices(machine.machine()); }

Device only(const std::string& name) {
    const Detection detection = found(FakeMachine(name));
    REQUIRE(detection.devices.size() == 1);
    return detection.devices.front();
}

} // namespace

TEST_CASE("an AMD card, from the files of its driver", "[detect]") {
    const Device card = only("rx7900xtx");
    CHECK(card.name == "rx7900xtx");
    CHECK(card.kind == Device::Kind::rocm);
    CHECK(card.total == 24560 * mib); // 25753026560
    CHECK(card.free == 23024 * mib);  // 1536 MiB in use
    CHECK_FALSE(card.unified);
}

TEST_CASE("an AMD card whose name no list has is found by its chip and memory", "[detect]") {
    const Detection detection = found(FakeMachine("rx7900xtx").file("/usr/share/libdrm/amdgpu.ids", ""));
    CHECK(detection.devices.front().name == "rx7900xtx"); // the one card with gfx1100 and 24 GB
    const std::string node = "/sys/class/kfd/kfd/topology/nodes/1/properties";
    const Detection unknown = found(FakeMachine("rx7900xtx")
                                        .file("/usr/share/libdrm/amdgpu.ids", "")
                                        .file(node, "drm_render_minor 128\n"
                                                    "gfx_target_version 90010\n"));
    CHECK(unknown.devices.front().name == "AMD GPU gfx90a");
}

TEST_CASE("two AMD cards in ROCm's order, the processor's GPU left out", "[detect]") {
    const Detection detection = found(FakeMachine("amd_two_cards"));
    REQUIRE(detection.devices.size() == 2);
    CHECK(detection.devices[0].name == "rx7900xt");
    CHECK(detection.devices[0].free == 21458059264 - 27856896);
    CHECK(detection.devices[1].name == "rx6900xt");
    CHECK(detection.devices[1].free == 17163091968 - 692142080);
    CHECK(contains(detection.notes.back(), "left out: Raphael; "));
}

TEST_CASE("ROCR_VISIBLE_DEVICES first, HIP_VISIBLE_DEVICES counts what it leaves", "[detect]") {
    const auto name = [](FakeMachine machine) { return found(machine).devices.front().name; };
    CHECK(name(FakeMachine("amd_two_cards").set("ROCR_VISIBLE_DEVICES", "1")) == "rx6900xt");
    CHECK(name(FakeMachine("amd_two_cards").set("ROCR_VISIBLE_DEVICES", "GPU-9246f0e1d2c3b4a5")) == "rx6900xt");
    CHECK(name(FakeMachine("amd_two_cards").set("ROCR_VISIBLE_DEVICES", "1,0").set("HIP_VISIBLE_DEVICES", "1")) ==
          "rx7900xt");
    CHECK(name(FakeMachine("amd_two_cards").set("CUDA_VISIBLE_DEVICES", "1")) == "rx6900xt");
    CHECK(name(FakeMachine("amd_two_cards").set("CUDA_VISIBLE_DEVICES", "1").set("HIP_VISIBLE_DEVICES", "0")) ==
          "rx7900xt");
    CHECK(contains(error_of([] { found(FakeMachine("amd_two_cards").set("HIP_VISIBLE_DEVICES", "-1")); }),
                   "HIP_VISIBLE_DEVICES=\"-1\" hides every AMD GPU"));
}

TEST_CASE("a processor with an AMD GPU has what it may borrow", "[detect]") {
    const Device apu = only("strix_halo");
    CHECK(apu.name == "ryzen-ai-max-395-128gb"); // of four sizes the one with this computer's memory
    CHECK(apu.description == "Radeon 8060S Graphics");
    CHECK(apu.unified);
    CHECK(apu.total == 62 * gib); // 66571993088, more than the 512 MiB set aside
    CHECK(apu.free == 61 * gib);

    // A BIOS that sets more aside than can be borrowed: that part is what the GPU has.
    const std::string device = "/sys/class/drm/card1/device/";
    const Detection set_aside = found(FakeMachine("strix_halo")
                                          .file(device + "mem_info_vram_total", "103079215104\n") // 96 GiB
                                          .file(device + "mem_info_vram_used", "1073741824\n")
                                          .file("/proc/meminfo", "MemTotal: 32768000 kB\nMemAvailable: 1024 kB\n"));
    CHECK(set_aside.devices.front().total == 96 * gib);
    CHECK(set_aside.devices.front().free == 95 * gib);
    const Detection busy =
        found(FakeMachine("strix_halo").file("/proc/meminfo", "MemTotal: 131072000 kB\nMemAvailable: 20971520 kB\n"));
    CHECK(busy.devices.front().free == 20 * gib);
}

TEST_CASE("rocm-smi where the driver's files are not seen", "[detect]") {
    const Detection detection = found(FakeMachine("rocm_smi"));
    REQUIRE(detection.devices.size() == 2);
    CHECK(detection.devices[0].name == "rx6900xt"); // card0
    CHECK(detection.devices[1].name == "rx7900xt");
    CHECK(detection.devices[1].free == 21458059264 - 27856896);
    CHECK(contains(error_of([] {
                       found(FakeMachine("rocm_smi").says("rocm-smi", {true, false, 0, "{\"card0\": {}", ""}));
                   }),
                   "rocm-smi printed no JSON but"));
    CHECK(contains(error_of([] {
                       found(FakeMachine("rocm_smi").says("rocm-smi", {true, false, 0, "{\"card0\": {}}", ""}));
                   }),
                   "rocm-smi tells no memory of card0"));
}

TEST_CASE("an AMD GPU with another driver than amdgpu", "[detect]") {
    FakeMachine machine("rocm_smi");
    machine.says("rocm-smi", {}).file("/sys/class/drm/card0/device/vendor", "0x1002\n");
    CHECK(contains(error_of([&] { found(machine); }), "an AMD GPU whose driver does not tell its memory"));
}

TEST_CASE("Intel cards: the memory that xe reports, else the catalog's", "[detect]") {
    const Detection arc = found(FakeMachine("arc_b580"));
    REQUIRE(arc.devices.size() == 1);
    CHECK(arc.devices[0].name == "arc-b580");
    CHECK(arc.devices[0].kind == Device::Kind::vulkan);
    CHECK(arc.devices[0].total == 12 * gib);
    CHECK_FALSE(arc.devices[0].free.has_value());
    CHECK(arc.notes[0] == "this machine has Intel Arc B580, 12.0 GiB");
    CHECK(arc.notes[1] == "arc-b580: its driver does not tell how much memory is free, so all of it counts; --free "
                          "corrects that");
    CHECK(contains(arc.notes[2], "left out: Intel UHD Graphics 770; "));

    CHECK(only("arc_a770").name == "arc-a770-16gb"); // two cards of that name: the window is 16 GiB wide
    CHECK(only("arc_a770").total == 16256 * mib);
    const std::string resource = "/sys/class/drm/card0/device/resource";
    const std::string half = "0x0000006000000000 0x00000061ffffffff 0x000000000014220c\n";
    CHECK(found(FakeMachine("arc_a770").file(resource, half)).devices.front().name == "arc-a770-8gb");
    CHECK(contains(error_of([] { found(FakeMachine("arc_a770").file("/sys/class/drm/card0/device/device", "0x1\n")); }),
                   "the driver of Intel GPU does not tell its memory"));
}

TEST_CASE("a processor's Intel GPU, where there is nothing else", "[detect]") {
    const Device gpu = only("laptop");
    CHECK(gpu.name == "Intel GPU");
    CHECK(gpu.unified);
    CHECK(gpu.total == 48000 * mib); // three quarters of 64000 MiB
    CHECK(gpu.free == 48000 * mib);  // 51200 MiB are available
    CHECK(found(FakeMachine("laptop").file("/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n"))
              .devices.front()
              .total == 2 * gib);
}

TEST_CASE("Apple: Metal's working set, or the limit that was set", "[detect]") {
    const Device mac = only("m3_max");
    CHECK(mac.name == "m3-max-64gb");
    CHECK(mac.kind == Device::Kind::metal);
    CHECK(mac.unified);
    CHECK(mac.total == 53084 * mib);
    CHECK_FALSE(mac.free.has_value());
    const Detection raised = found(FakeMachine("m3_max_raised"));
    CHECK(raised.devices.front().total == 58982 * mib);
    CHECK(raised.notes[1] == "iogpu.wired_limit_mb lets the GPU use 57.6 GiB of 64.0 GiB");
    CHECK(error_of([] { found(FakeMachine("intel_mac")); }) ==
          "no GPU was found on this machine (this Mac has no GPU of Apple's but \"Intel(R) Core(TM) i9-9880H CPU @ "
          "2.30GHz\"); give the GPU by its size or name instead, such as --gpu 24GB");
    CHECK(contains(error_of([] { found(FakeMachine("m3_max").says("sysctl hw.memsize", {})); }),
                   "sysctl does not tell the memory of this Mac"));
}

TEST_CASE("a driver that does not answer: another vendor's card will do, the processor's GPU not", "[detect]") {
    const ProgramOutput failure{true, false, 9, "NVIDIA-SMI has failed\n", ""};
    const Detection other = found(FakeMachine("rx7900xtx").says("nvidia-smi", failure));
    CHECK(other.devices.front().name == "rx7900xtx");
    CHECK(other.notes.back() == "nvidia-smi says \"NVIDIA-SMI has failed\"");
    CHECK(contains(error_of([&] { found(FakeMachine("laptop").says("nvidia-smi", failure)); }),
                   "nvidia-smi says \"NVIDIA-SMI has failed\""));
}

TEST_CASE("systems that are not known", "[detect]") {
    Machine machine = FakeMachine("rtx4090").machine();
    machine.platform = Machine::Platform::unknown;
    CHECK(contains(error_of([&] { detect_devices(machine); }), "the GPUs of this system cannot be read; give the GPU"));
}

#ifndef _WIN32
TEST_CASE("programs are run with their arguments, without a shell", "[detect]") {
    const ProgramOutput echo = run_program({"printf", "%s|%s", "a b", "$HOME;`id`"}, 10'000);
    CHECK(echo.found);
    CHECK(echo.out == "a b|$HOME;`id`");
    CHECK(echo.exit_code == 0);
    const ProgramOutput both = run_program({"sh", "-c", "echo out; echo err >&2; exit 9"}, 10'000);
    CHECK(both.out == "out\n");
    CHECK(both.err == "err\n");
    CHECK(both.exit_code == 9);
    CHECK_FALSE(run_program({"no-such-program-of-vramfit"}, 10'000).found);
    CHECK(run_program({"cat"}, 10'000).exit_code == 0); // its input is empty
    CHECK(run_program({"sh", "-c", "kill -9 $$"}, 10'000).exit_code == 137);
}

TEST_CASE("a program that hangs or floods is stopped, with what it started", "[detect]") {
    const auto start = std::chrono::steady_clock::now();
    CHECK(run_program({"sh", "-c", "echo half; sleep 60"}, 100).timed_out);
    CHECK(run_program({"sh", "-c", "sleep 60 & exec >&- 2>&-; wait"}, 100).timed_out); // its output is closed
    const ProgramOutput flood =
        run_program({"sh", "-c", "while :; do echo 0123456789012345678901234567890; done"}, 60'000);
    CHECK(flood.timed_out);
    CHECK(flood.out.size() == std::size_t{1} << 20);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}
#endif
