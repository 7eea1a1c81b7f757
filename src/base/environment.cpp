#include "vramfit/base/environment.hpp"

#include <cstdlib>

namespace vramfit {

Environment process_environment() {
    return [](std::string_view name) -> std::optional<std::string> {
        const char* const value = std::getenv(std::string(name).c_str()); // NOLINT(concurrency-mt-unsafe): one thread
        if (value == nullptr) return std::nullopt;
        return value;
    };
}

Environment empty_environment() {
    return [](std::string_view) { return std::optional<std::string>(); };
}

} // namespace vramfit
