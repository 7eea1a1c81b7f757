#pragma once

#include "cli/terminal.hpp"
#include "vramfit/answer/diagnosis.hpp"

#include <string>

namespace vramfit::cli {

/// The diagnosis for somebody who has never sized a cache: what failed, the sums, the cause, what to do.
std::string render_diagnosis_text(const Diagnosis& diagnosis, const Terminal& terminal);

/// As JSON of schema `vramfit/diagnosis/1` (data/schema/diagnosis.json).
std::string render_diagnosis_json(const Diagnosis& diagnosis);

/// What a bug report needs, without paths, names of users and hosts, keys and addresses.
std::string render_report(const Diagnosis& diagnosis);

} // namespace vramfit::cli
