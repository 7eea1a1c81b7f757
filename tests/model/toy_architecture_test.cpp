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

TEST_CASE("200 questions without an answer do not change the answer to the next") {
    Estimator asked(test::toy_model());
    for (int i = 0; i < 200; ++i) {
        Deployment d = toy_deployment();
        d.settings.n_seq_max = i % 2 == 0 ? 257 : 1;
        d.settings.n_ctx = i % 2 == 0 ? 1024 : 1ULL << 60U;
        REQUIRE(test::error_of([&] { asked.estimate(d); }) != "no error");
    }
    const MemoryEstimate e = asked.estimate(toy_deployment());
    CHECK(e.devices.at(0).compute == 3154048); // as above
    CHECK(e.devices.at(0).kv_cache == 1048576);
    CHECK(e.n_nodes == 41);
}

namespace {

/// The error of an estimate with one more graph line in front of the layer's.
std::string estimate_error(const std::vector<std::string>& lines, const std::vector<std::string>& block = {}) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(test::toy_json());
    if (!block.empty()) json["blocks"]["mine"] = block;
    auto& layer = json["graph"]["layer"];
    for (std::size_t i = 0; i < lines.size(); ++i)
        layer.insert(layer.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    Model model = test::toy_model();
    model.architecture = test::parse_architecture(json.dump());
    return test::error_of([&] { Estimator(std::move(model)).estimate(toy_deployment()); });
}

} // namespace

TEST_CASE("a mistake of a graph line that only shows with a model: file, section, line") {
    const std::string where = "toy.json, graph.layer line 1: ";
    CHECK(estimate_error({}) == "no error");
    CHECK(estimate_error({"y = VIEW 1 < x | cut=n_embd * n_tokens"}) == "no error");
    CHECK(estimate_error({"y = VIEW 1 < x | cut=n_embd * n_tokens + 1"}) ==
          where + "the view is cut by more than there is");
    CHECK(estimate_error({"y = SUM_EXPERTS n_embd, n_tokens < x | n=1 - 1"}) == where + "a sum over no experts");
    CHECK(estimate_error({"y = ADD n_embd - 1000, n_tokens < x"}) == where + "a dimension is not a count: -744.000000");
    CHECK(estimate_error({"y = ADD n_embd, n_tokens < x $no_such"}) ==
          where + "toy-0.7m has no tensor 'no_such' in layer 0");
    CHECK(estimate_error({"#mine * 1024"}, {"y = ADD 1 < x"}) == "no error");
    CHECK(estimate_error({"#mine * 1025"}, {"y = ADD 1 < x"}) ==
          "toy.json, block 'mine' line 0: 1025 repetitions are too many");
    CHECK(estimate_error({"#mine * n_tokens * n_tokens"}, {"y = ADD 1 < x"}) ==
          "toy.json, block 'mine' line 0: 262144 repetitions are too many");
}

TEST_CASE("a failed estimate of a model leaves its next one right") {
    // Divides by zero with one output row alone, in the middle of the graph, in layer 1.
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(test::toy_json());
    auto& layer = json["graph"]["layer"];
    layer.insert(layer.begin(), "y = ADD 1 + layers_sum(8 / (n_outputs - 1 + (il == 0 ? 1 : 0))) < x");
    Model model = test::toy_model();
    model.architecture = test::parse_architecture(json.dump());
    Deployment good = toy_deployment();
    good.settings.n_outputs_max = 2;
    const std::uint64_t expected = Estimator(model).estimate(good).devices.at(0).compute;
    Estimator asked(model);
    for (int i = 0; i < 200; ++i)
        REQUIRE(test::contains(test::error_of([&] { asked.estimate(toy_deployment()); }), "a division by zero"));
    CHECK(asked.estimate(good).devices.at(0).compute == expected);
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
