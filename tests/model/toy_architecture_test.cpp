// The contributor's exercise: an architecture and a model that nobody compiled in, from tests/fixtures alone, with every
// figure worked out by hand.
#include "support/errors.hpp"
#include "support/fixtures.hpp"
#include "vramfit/memory/estimate.hpp"

#include "catch.hpp"

using namespace vramfit;

namespace {

Deployment toy_deployment() {
    Deployment d;
    d.file_type = FileType::f16;
    d.settings.n_ctx = 1024;
    d.settings.n_outputs_max = 1;
    return d;
}

} // namespace

TEST_CASE("a new architecture and model: tensors and parameters") {
    const Model toy = test::toy_model();
    CHECK(toy.id == "toy-0.7m");
    CHECK(toy.tensors.size() == 11); // the embedding and five a block; no output.weight: tied
    // embedding 256 x 1024; a block: norm 256, q and o 256 x 256, k and v 256 x 128 = 196,864
    CHECK(toy.n_parameters() == 262144 + 2 * 196864);
    CHECK(toy.n_ctx_train() == 1024);
}

TEST_CASE("a new architecture and model: weights") {
    Estimator estimator(test::toy_model());
    // F16: embedding 262144 x 2; a block: norm 256 x 4, matrices 196608 x 2 = 394,240
    CHECK(estimator.tensor_bytes(FileType::f16, true) == 524288 + 2 * 394240);
    // Q8_0, 34 bytes for 32: embedding 278,528; a block: norm 1,024, q and o 69,632 each, k and v 34,816 each
    CHECK(estimator.tensor_bytes(FileType::q8_0, true) == 278528 + 2 * (1024 + 2 * 69632 + 2 * 34816));

    MemoryEstimate e = estimator.estimate(toy_deployment());
    CHECK(e.host.weights == 524288);                       // the embedding
    CHECK(e.devices.at(0).weights == 2 * 394240 + 524288); // and once more as output matrix

    // Rows of 256 are 256 short of 512: 272 bytes more a quantized tensor, then a multiple of 128.
    Deployment q8 = toy_deployment();
    q8.file_type = FileType::q8_0;
    e = estimator.estimate(q8);
    CHECK(e.host.weights == 278528);
    CHECK(e.devices.at(0).weights == 2 * (1024 + 2 * 70016 + 2 * 35200) + 278912);
}

TEST_CASE("a new architecture and model: cache") {
    Estimator estimator(test::toy_model());
    const MemoryEstimate e = estimator.estimate(toy_deployment());
    // K and V: 2 heads of 64, 1024 cells, 2 bytes, 2 layers
    CHECK(e.devices.at(0).kv_cache == 2 * (2 * 64 * 1024 * 2 * 2));
    CHECK(estimator.kv_bytes_per_token(toy_deployment()) == 1024);
}

TEST_CASE("a new architecture and model: compute buffers, allocated by hand") {
    Estimator estimator(test::toy_model());
    const MemoryEstimate e = estimator.estimate(toy_deployment());
    CHECK_FALSE(e.refusal);
    CHECK(e.flash_attn);

    // Host: the inputs lie side by side and stay. Tokens 512 x 4, embeddings as input 256 x 512 x 4, rows of K and of V
    // 512 x 8 each, mask 1024 x 512 x 2, the output's row 4 (a multiple of 32), and the looked-up embeddings 256 x 512 x 4.
    CHECK(e.host.compute == 2048 + 524288 + 4096 + 4096 + 1048576 + 32 + 524288);

    // Device, in order of offset: the copies of what the host made, at the split's start:
    //   embeddings 524288, rows of K 4096, rows of V 4096, mask 1048576, output row 128            ends at  1581184
    // layer 0: the norm (524288) cannot overwrite the embeddings, which the residual still needs    ends at  2105472
    //   its product with the weight lies in the same place; q 524288, k 262144, v 262144           ends at  3154048
    //   norm freed; k and v freed once stored; attention (524288) takes the norm's place
    //   attn_output takes q's place; the sum lies in attn_output's
    // layer 1: the norm takes the place of layer 0's attention, q that of the embeddings, k and v the end again
    CHECK(e.devices.at(0).compute == 3154048);

    // Splits: embeddings on the host, the rest on the device. Nodes: GET_ROWS; a layer: norm 2, q k v 3, stores 2 and
    // their 2 views, views of K and V 4, of q 2, attention and its view 2, attn_output, sum = 19; head 2.
    CHECK(e.n_splits == 2);
    CHECK(e.n_nodes == 1 + 2 * 19 + 2);

    // Without flash attention the scores are f32: 1024 x 512 x 4 heads x 4 bytes = 8 MiB.
    Deployment off = toy_deployment();
    off.settings.flash_attn = FlashAttention::off;
    CHECK(estimator.estimate(off).devices.at(0).compute > 8 * 1024 * 1024);
}

TEST_CASE("a mistake in the new model names it") {
    CHECK(test::contains(test::error_of([] {
                             model_from_entry(R"({"id": "x", "architecture": "toy"})",
                                              test::parse_architecture(test::toy_json()));
                         }),
                         "has no \"hparams\""));
    CHECK(test::error_of([] {
              model_from_entry(R"({"id": "x", "hparams": {"block_count": 2}})",
                               test::parse_architecture(test::toy_json()));
          }) == "x has no hyperparameter 'embedding_length', which architecture toy needs");
    CHECK(test::error_of([] {
              model_from_entry(R"({"id": "x", "hparams": {"block_count": 0}})",
                               test::parse_architecture(test::toy_json()));
          }) == "block_count of x is 0; 1 to 4096 would be right");
    CHECK(test::error_of([] {
              model_from_entry(R"({"id": "x", "hparams": {"block_count": "many"}})",
                               test::parse_architecture(test::toy_json()));
          }) == "hyperparameter 'block_count' is not a number");
}
