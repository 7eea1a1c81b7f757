#pragma once

#include "vramfit/base/error.hpp"

#include <string>

namespace vramfit::test {

/// The message of the Error that `action` throws, or "no error".
template <typename Action>
std::string error_of(Action&& action) {
    try {
        action();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace vramfit::test
