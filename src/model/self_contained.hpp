#pragma once

#include <nlohmann/json.hpp>

namespace vramfit {

/// An architecture's file with everything of common.json that it uses, and nothing else of it: a question that needs
/// one architecture then reads one small text. What the file defines itself wins, as when both are read.
nlohmann::ordered_json self_contained(const nlohmann::ordered_json& architecture, const nlohmann::ordered_json& common);

} // namespace vramfit
