#pragma once

#include <stdexcept>
#include <string>

namespace vramfit {

/// The one exception of the library: a question that cannot be answered because of what was asked or read.
/// `what()` is one line without a full stop: what is wrong, where (file, option, key), and what would be right.
/// The command line prints it behind "vramfit: " and exits with 2. Programming mistakes are asserts instead.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
};

} // namespace vramfit
