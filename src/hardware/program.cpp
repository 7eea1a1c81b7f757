// Running a program, on systems with POSIX and on Windows.

#include "vramfit/hardware/machine.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstdio>

#ifndef _WIN32
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): only glibc declares it
#endif

namespace vramfit {
namespace {

constexpr std::size_t most_output = 1 << 20;

} // namespace

#ifndef _WIN32

namespace {

/// A pipe whose ends are closed on every way out.
class Pipe {
public:
    Pipe() {
        if (::pipe(ends_.data()) != 0) ends_ = {-1, -1};
        for (const int end : ends_) {
            if (end >= 0) ::fcntl(end, F_SETFD, FD_CLOEXEC); // NOLINT(cppcoreguidelines-pro-type-vararg)
        }
    }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    bool good() const { return ends_[0] >= 0; }
    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }
    void close_reading() { close_end(0); }
    void close_writing() { close_end(1); }

private:
    void close_end(std::size_t i) {
        if (ends_[i] >= 0) ::close(ends_[i]);
        ends_[i] = -1;
    }

    std::array<int, 2> ends_{-1, -1};
};

/// The process, or -1 where there is no such program. It leads a group of its own, so that what it starts ends with it.
pid_t spawn(const std::vector<std::string>& command, const Pipe& out, const Pipe& err) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str())); // NOLINT
    arguments.push_back(nullptr);

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out.writing(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err.writing(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); // which this program ignores
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);

    pid_t process = -1;
    const int error = posix_spawnp(&process, arguments.front(), &files, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error == 0 ? process : -1;
}

/// Appends what can be read now; closes the pipe at its end. False where it became too much.
bool take(Pipe& pipe, std::string& text) {
    std::array<char, 16384> part{};
    const ssize_t n = ::read(pipe.reading(), part.data(), part.size());
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) pipe.close_reading();
    if (n > 0) text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() <= most_output) return true;
    text.resize(most_output);
    return false;
}

/// Reads both pipes until the program has closed them. False where it took too long or said too much.
bool collect(Pipe& out, Pipe& err, ProgramOutput& output, std::chrono::steady_clock::time_point deadline) {
    while (out.reading() >= 0 || err.reading() >= 0) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) return false;
        std::array<pollfd, 2> waiting{pollfd{out.reading(), POLLIN, 0}, pollfd{err.reading(), POLLIN, 0}};
        const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        if (waiting[0].revents != 0 && !take(out, output.out)) return false;
        if (waiting[1].revents != 0 && !take(err, output.err)) return false;
    }
    return true;
}

/// The state in which the process ended, or nothing where it has not by the deadline.
std::optional<int> wait_until(pid_t process, std::chrono::steady_clock::time_point deadline) {
    for (;;) {
        int status = 0;
        const pid_t ended = ::waitpid(process, &status, WNOHANG);
        if (ended == process) return status;
        if (ended < 0 && errno != EINTR) return 0; // somebody else has waited for it
        if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
        ::poll(nullptr, 0, 1); // it has closed its output: a millisecond is enough
    }
}

int exit_code_of(int status) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 0;
}

} // namespace

ProgramOutput run_program(const std::vector<std::string>& command, int time_limit_ms) {
    assert(!command.empty());
    ProgramOutput output;
    Pipe out;
    Pipe err;
    if (!out.good() || !err.good()) return output;
    const pid_t process = spawn(command, out, err);
    if (process < 0) return output;
    out.close_writing();
    err.close_writing();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(time_limit_ms);
    const bool all = collect(out, err, output, deadline);
    std::optional<int> status = all ? wait_until(process, deadline) : std::nullopt;
    if (!status) {
        output.timed_out = true;
        ::kill(-process, SIGKILL);
        int ended = 0;
        while (::waitpid(process, &ended, 0) < 0 && errno == EINTR) {
        }
        status = ended;
    }
    output.exit_code = exit_code_of(*status);
    // Where posix_spawnp cannot tell: the shell's and POSIX's code for a program that is not there.
    output.found = output.exit_code != 127 || !output.out.empty();
    return output;
}

#else

ProgramOutput run_program(const std::vector<std::string>& command, int) {
    std::string line;
    for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
    ProgramOutput output;
    std::FILE* const pipe = ::_popen((line + " 2>NUL").c_str(), "rb");
    if (pipe == nullptr) return output;
    std::array<char, 16384> part{};
    for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
        if (output.out.size() < most_output) output.out.append(part.data(), n);
    }
    output.exit_code = ::_pclose(pipe);
    output.found = !output.out.empty(); // cmd.exe says on standard error that there is no such program
    return output;
}

#endif

} // namespace vramfit
