// One question, process start to exit, beside an empty program: the bar is twice its time.
#include "catch.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

double seconds_of(const std::string& command, int n) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) {
        if (std::system(command.c_str()) == -1) return -1;
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / n;
}

} // namespace

TEST_CASE("one question, process start to exit") {
    // The shell that std::system starts costs both sides the same; 200 runs in one shell make it small.
    const auto looped = [](const std::string& command) {
        return "for i in $(seq 200); do " + command + " > /dev/null 2>&1; done; :";
    };
    const double nothing = seconds_of(looped("/bin/true"), 3) / 200;
    const double question =
        seconds_of(looped(std::string(VRAMFIT_PROGRAM) + " -m llama3.1-8b --quant q4_k_m -c 32768 -g 24GB"), 3) / 200;
    std::printf("one process: /bin/true %.3f ms, a question %.3f ms, %.2f times\n", nothing * 1e3, question * 1e3,
                question / nothing);
}
