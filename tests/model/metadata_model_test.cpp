#include "catch.hpp"
#include "model/metadata_model.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"

using namespace vramfit;

namespace {

/// What llama.cpp prints of a model of the catalog.
ModelMetadata printed(const std::string& id) {
    const Model model = catalog_model(id);
    ModelMetadata metadata;
    metadata.architecture = model.architecture->name;
    metadata.hparams = model.hparams;
    metadata.n_tensors = model.tensors.size();
    metadata.n_parameters = model.n_parameters();
    return metadata;
}

} // namespace

TEST_CASE("metadata make the model that the catalog has, optional tensors included") {
    // An output matrix and rope factors; tied; biases; biases and a tied output; experts.
    for (const std::string id : {"llama3.1-8b", "llama3.2-1b", "qwen2.5-7b", "qwen2.5-0.5b", "qwen3-30b-a3b"}) {
        const MetadataModel made = model_from_metadata(printed(id));
        CHECK(made.weights_known);
        CHECK(made.model.n_parameters() == catalog_model(id).n_parameters());
        CHECK(made.model.tensors.size() == catalog_model(id).tensors.size());
    }
}

TEST_CASE("tensors that are not what the metadata say are not counted upon") {
    ModelMetadata metadata = printed("llama3.1-8b");
    metadata.n_tensors = 400;
    CHECK(!model_from_metadata(metadata).weights_known);
    metadata.n_tensors.reset();
    CHECK(model_from_metadata(metadata).weights_known);
    metadata.n_parameters = 9'000'000'000; // 12 % more than there are
    CHECK(!model_from_metadata(metadata).weights_known);
    metadata.n_parameters.reset();
    CHECK(!model_from_metadata(metadata).weights_known);
}

TEST_CASE("an architecture that is not described has plain attention, or cannot be sized") {
    ModelMetadata metadata = printed("llama3.1-8b");
    metadata.architecture = "newcomer";
    const MetadataModel made = model_from_metadata(metadata);
    CHECK(!made.weights_known);
    CHECK(made.model.architecture->name == "newcomer");
    metadata.hparams.set("ssm.state_size", 128);
    CHECK_THROWS_AS(model_from_metadata(metadata), Error);
    ModelMetadata empty;
    empty.architecture = "llama";
    CHECK_THROWS_AS(model_from_metadata(empty), Error);
}
