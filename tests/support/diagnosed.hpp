#pragma once

#include "support/log_stream.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace vramfit::test {

inline Diagnosis diagnosis_of(const std::string& log) { return diagnose(log_stream(log), {}); }

/// "runtime stage cause device", "-" for what is not there; "none" where no memory was missing.
inline std::string found_in(const std::string& log) {
    const Diagnosis d = diagnosis_of(log);
    if (!d.oom) return "none";
    return std::string(name_of(d.runtime)) + " " + std::string(name_of(d.stage)) + " " + std::string(name_of(d.cause)) +
           " " + (d.device.empty() ? "-" : d.device);
}

/// The value of a figure; 0 where there is none.
inline std::uint64_t figure(const Diagnosis& diagnosis, std::string_view name) {
    const LogFigure* found = diagnosis.figure(name);
    return found == nullptr ? 0 : found->value;
}

inline bool notes(const Diagnosis& diagnosis, std::string_view part) {
    return std::ranges::any_of(diagnosis.notes, [&](const std::string& note) { return note.find(part) != note.npos; });
}

} // namespace vramfit::test
