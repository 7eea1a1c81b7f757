#include "cli/execute.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/quote.hpp"

#ifndef _WIN32
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>
#endif

namespace vramfit::cli {

#ifdef _WIN32

int execute(const std::vector<std::string>&) {
    throw Error("--exec needs a POSIX system; run the command where vramfit exits with 0");
}

#else

int execute(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    const std::string& first = words.front();
    // env(1) takes assignments before a program.
    if (first.find('=') < first.find('/')) words.insert(words.begin(), "env");
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL); // what a program ignores, the one in its place would ignore, too
    execvp(argv.front(), argv.data());
    throw Error("cannot run " + quote(words.front()) + ": " + std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
}

#endif

} // namespace vramfit::cli
