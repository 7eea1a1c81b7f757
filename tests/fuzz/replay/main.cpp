// Stands in for libFuzzer where a fuzz target is built as a plain program: runs it on every file of the folders (or
// files) that are named, so that every input that once broke something is a test for ever.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::printf("%s\n", path.string().c_str());
    std::fflush(stdout); // the last name printed is the input that crashed
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

} // namespace

int main(int argc, char** argv) {
    LLVMFuzzerTestOneInput(nullptr, 0);
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) {
            if (std::filesystem::exists(argv[i])) replay(argv[i]);
            continue;
        }
        for (const auto& item : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (item.is_regular_file()) replay(item.path());
        }
    }
    return 0;
}
