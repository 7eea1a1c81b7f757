#include "catch.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/quant_mix.hpp"
#include "vramfit/model/weight_groups.hpp"
#include "vramfit/model/weights.hpp"

using namespace vramfit;

TEST_CASE("groups of weights add up to the file", "[weight_groups]") {
    const Model model = catalog_model("gpt-oss-20b");
    const auto types = quant_mix(model, model.architecture->name, FileType::mxfp4_moe, true).types;
    std::uint64_t tensors = 0;
    std::uint64_t parameters = 0;
    std::uint64_t bytes = 0;
    bool experts = false;
    for (const WeightGroup& group : weight_groups(model, types)) {
        tensors += group.tensors;
        parameters += group.parameters;
        bytes += group.bytes;
        if (group.name == "experts") {
            experts = true;
            CHECK(group.types.front().type == TensorType::mxfp4);
            CHECK(group.types.front().tensors == 3 * 24); // gate, up and down of 24 layers
        }
    }
    CHECK(experts);
    CHECK(tensors == model.tensors.size());
    CHECK(parameters == model.n_parameters());
    CHECK(bytes == file_tensor_bytes(model, types));
}
