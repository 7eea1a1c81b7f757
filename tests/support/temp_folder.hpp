#pragma once

#include <atomic>
#include <filesystem>
#include <random>
#include <string>

namespace vramfit::test {

/// A folder that goes when the test is over.
class TempFolder {
public:
    TempFolder() {
        static std::atomic<unsigned> n = 0;
        std::random_device random;
        path_ = std::filesystem::temp_directory_path() /
                ("vramfit-test-" + std::to_string(random()) + "-" + std::to_string(n++));
        std::filesystem::create_directories(path_);
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

} // namespace vramfit::test
