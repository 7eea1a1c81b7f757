#include "cli/run.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

namespace {

/// Writes to standard output. A reader that has gone away (`| head`) is no failure of ours; an output that was never
/// there (`>&-`) is one, as a full disk is.
bool write_output(const std::string& text) {
    errno = 0;
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written || errno == EPIPE;
}

/// Reads on in standard input. Unbuffered, so that not more is taken than somebody asks for.
std::size_t read_input(std::span<std::byte> buffer) { return std::fread(buffer.data(), 1, buffer.size(), stdin); }

} // namespace

int main(int argc, char** argv) {
#ifdef SIGPIPE
    std::signal(SIGPIPE, SIG_IGN);
#endif
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    vramfit::ModelSources sources;
    sources.standard_input = read_input;
    const auto answer = [&](const vramfit::Request& request) { return vramfit::solve(request, sources); };
    std::ostringstream out;
    const int exit_code =
        vramfit::cli::run(args, out, std::cerr, vramfit::cli::Terminal::of_process(), answer, sources);
    if (!write_output(out.str())) {
        std::cerr << "vramfit: cannot write the answer: " << std::strerror(errno) << "\n";
        return vramfit::cli::exit_error;
    }
    return exit_code;
}
