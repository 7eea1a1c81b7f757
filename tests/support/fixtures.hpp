#pragma once

#include "data_file.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

#include <nlohmann/json.hpp>

/// Architectures and models that are not the bundled ones.
namespace vramfit::test {

inline std::string common_json() { return read_file(VRAMFIT_DATA_DIR "/architectures/common.json"); }

/// An architecture from its text, with the bundled common.json.
inline std::shared_ptr<const Architecture> parse_architecture(const std::string& json) {
    return Architecture::parse(json, common_json(), "toy.json");
}

/// tests/fixtures/architectures/toy.json: a transformer small enough to be worked out by hand.
inline std::string toy_json() { return read_file(VRAMFIT_TEST_DATA "/../fixtures/architectures/toy.json"); }

/// The model of tests/fixtures/models/toy.json.
inline Model toy_model() {
    const auto file = nlohmann::json::parse(read_file(VRAMFIT_TEST_DATA "/../fixtures/models/toy.json"));
    return model_from_entry(file["models"][0].dump(), parse_architecture(toy_json()));
}

} // namespace vramfit::test
