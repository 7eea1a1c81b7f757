#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("vramfit " VRAMFIT_VERSION);
        return 0;
    }
    std::fputs("vramfit: see --version\n", stderr);
    return 2;
}
