#include "vramfit/hardware/machine.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace vramfit {
namespace {

constexpr std::size_t longest_file = 4 << 20;
constexpr std::size_t most_names = 4096;
// Without its persistence daemon NVIDIA's driver wakes every card when it is asked: seconds for each.
constexpr int time_limit_ms = 20'000;

constexpr Machine::Platform this_platform() {
#if defined(__linux__)
    return Machine::Platform::sysfs;
#elif defined(__APPLE__)
    return Machine::Platform::sysctl;
#elif defined(_WIN32)
    return Machine::Platform::windows;
#else
    return Machine::Platform::unknown;
#endif
}

/// Files of /sys and /proc do not know their size: read until the end.
std::optional<std::string> read_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt; // no device, and no pipe that waits
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::array<char, 16384> part{};
    while (file && text.size() < longest_file) {
        file.read(part.data(), static_cast<std::streamsize>(part.size()));
        text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    }
    if (!file.eof() || text.size() > longest_file) return std::nullopt;
    return text;
}

std::vector<std::string> list_folder(const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entries(path, error);
    while (!error && entries != std::filesystem::directory_iterator() && names.size() < most_names) {
        names.push_back(entries->path().filename().string());
        entries.increment(error);
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

Machine this_machine(Environment environment, const std::string& root) {
    Machine machine;
    machine.platform = this_platform();
    machine.run = [](const std::vector<std::string>& command) { return run_program(command, time_limit_ms); };
    machine.read = [root](const std::string& path) { return read_file(root + path); };
    machine.list = [root](const std::string& path) { return list_folder(root + path); };
    machine.environment = std::move(environment);
    return machine;
}

} // namespace vramfit
