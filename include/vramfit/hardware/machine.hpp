#pragma once

#include "vramfit/base/environment.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// What came of running a program.
struct ProgramOutput {
    bool found = false;     ///< there is such a program, and it could be started
    bool timed_out = false; ///< it was stopped: it took too long, or said too much
    int exit_code = 0;      ///< 128 + N where signal N ended it
    std::string out, err;   ///< what it wrote, each up to 1 MiB
};

/// What may be asked of a computer about its GPUs: the few things that detection reads, so that tests can give
/// recorded ones. Nothing here fails: what is not there is absent.
struct Machine {
    /// Named for where devices are looked up.
    enum class Platform : std::uint8_t { sysfs, sysctl, windows, unknown }; // Linux, macOS

    Platform platform = Platform::unknown;
    /// Runs a program of the PATH with arguments, without a shell.
    std::function<ProgramOutput(const std::vector<std::string>& command)> run;
    /// The content of a file, up to 4 MiB; nothing where it cannot be read.
    std::function<std::optional<std::string>(const std::string& path)> read;
    /// The names in a folder, sorted; none where it cannot be read.
    std::function<std::vector<std::string>(const std::string& path)> list;
    Environment environment; ///< of the runtime: CUDA_VISIBLE_DEVICES and the like
};

/// This computer. `root` is the folder below which the paths are looked up ("/host" in a container that has the
/// host's /sys and /proc there; empty: no other), and `environment` what the runtime will be started with.
Machine this_machine(Environment environment, const std::string& root = "");

/// Runs a program of the PATH, without a shell, for at most `time_limit_ms`. Its input is empty. On Windows there is no
/// time limit.
ProgramOutput run_program(const std::vector<std::string>& command, int time_limit_ms);

} // namespace vramfit
