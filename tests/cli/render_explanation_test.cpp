#include "catch.hpp"
#include "cli/explain_caches.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/sample_answers.hpp"
#include "support/errors.hpp"
#include "vramfit/model/architecture.hpp"
#include "vramfit/model/catalog.hpp"
#include "vramfit/model/quant_mix.hpp"

using namespace vramfit;
using namespace vramfit::test;
using cli::cache_formulas;
using Lines = std::vector<std::string>;

namespace {

/// The formulas of one cache, with the settings of the sample.
Lines formulas_of(const Cache& cache, TensorType type_k = TensorType::f16, TensorType type_v = TensorType::f16) {
    Answer answer = fitting_answer();
    answer.settings.type_k = type_k;
    answer.settings.type_v = type_v;
    answer.estimate.caches = {cache};
    return cache_formulas(answer, ascii_pipe());
}

/// The answer with the groups of a file of that model and type.
Answer with_weights(Answer answer, const Model& model, FileType type) {
    answer.weights = weight_groups(model, quant_mix(model, model.architecture->name, type, true).types);
    return answer;
}

CacheLayer layer_of(std::int32_t il, std::uint64_t k_width, std::uint64_t v_width, std::uint64_t k_bytes,
                    std::uint64_t v_bytes) {
    CacheLayer layer;
    layer.il = il;
    layer.k_width = k_width;
    layer.v_width = v_width;
    layer.k_bytes = k_bytes;
    layer.v_bytes = v_bytes;
    return layer;
}

} // namespace

TEST_CASE("explanation: the arithmetic term by term") {
    const Model model = catalog_model("llama3.1-8b");
    // Rows of 4096: 2304 bytes in Q4_K, 3360 in Q6_K; 128256 of them are 281.81 and, with the output norm, 410.99 MiB.
    // The attention of a layer: q and output 9 MiB each, k 2.25, v 2.25 or 3.28 (16 layers), the norm 16 KiB.
    // Feed-forward: gate and up 31.5 MiB each, down 31.5 or 45.94 (16 layers), the norm 16 KiB.
    Answer answer = with_weights(fitting_answer(), model, FileType::q4_k_m);
    answer.kv_heads.assign(32, 8);
    CHECK(cli::render_explanation(answer, utf8_pipe()) == R"(
  weights, Q4_K_M
    embeddings        1 tensor     525M      281.81 MiB  q4_K
    attention       160 tensors    1.3B      737.00 MiB  q4_K, q6_K, f32
    feed-forward    128 tensors    5.6B     3255.50 MiB  q4_K, q6_K, f32
    output            2 tensors    525M      410.99 MiB  q6_K, f32
    other             1 tensor       64        0.00 MiB  f32
    in the file     292 tensors    8.0B     4685.30 MiB
    loaded: GPU 0 4403.49 MiB, in RAM 281.81 MiB

  caches
    full: 2 × 32 layers × 8 KV heads × 128 × 32768 tokens × 2 bytes = 4.0 GiB
    KV cache: GPU 0 4096.00 MiB, in RAM 0.00 MiB

  compute buffers
    replay of the prompt graph: 512 tokens, 4 outputs, flash attention on: 998
    nodes, 2 splits
    reserved: GPU 0 140.01 MiB, in RAM 48.00 MiB
    output buffer: in RAM 1.96 MiB

  overhead
    GPU 0: driver 450 MiB (typical, 60 to 500 seen), context 300 MiB (typical,
           110 to 550 seen) = 750 MiB

  sum
    GPU 0: weights 4403.49 + KV cache 4096.00 + compute 140.01 + overhead 750.00
           = 9389.50 MiB
           24576.00 - 9389.50 = 15186.50 MiB free
)");
}

TEST_CASE("explanation: without the tensors only the sums") {
    const std::string text = cli::render_explanation(failing_answer(), ascii_pipe());
    CHECK(contains(text, "\n    in the file 4685.30 MiB\n"));
    CHECK(contains(text, "\n    full: 2 x 32 layers x 1024 x 32768 tokens x 2 bytes = 4.0 GiB\n"));
    CHECK(contains(text, "\n           8192.00 - 9389.50 = -1197.50 MiB: too much\n"));
}

TEST_CASE("explanation: equal devices share the line about overhead") {
    Answer answer = fitting_answer();
    answer.devices.push_back(answer.devices[0]);
    CHECK(contains(cli::render_explanation(answer, ascii_pipe()), "\n    GPU 0 to 1: driver 450 MiB"));
}

TEST_CASE("explanation: groups of many types stay within 80 columns") {
    const Model model = catalog_model("qwen3-30b-a3b");
    for (const FileType type :
         {FileType::iq2_xxs, FileType::iq3_xs, FileType::iq3_m, FileType::q2_k, FileType::q3_k_l, FileType::q4_k_m}) {
        const Answer answer = with_weights(fitting_answer(), model, type);
        CHECK(widest_line(render_explanation(answer, utf8_pipe()), cli::display_width) <= 80);
    }
}

TEST_CASE("explanation: a modelled compute buffer says so") {
    Answer answer = fitting_answer();
    answer.compute_basis = Basis::modelled;
    answer.compute_error = 12 * mib;
    CHECK(contains(cli::render_explanation(answer, ascii_pipe()),
                   "\n    modelled by a formula, at most 12.00 MiB more\n"));
}

TEST_CASE("cache formulas: K and V apart where they differ") {
    Cache cache;
    cache.kind = "full";
    cache.cells = 32768;
    cache.layers = {layer_of(0, 1024, 1024, 35651584, 67108864)}; // 1024 / 32 * 34 bytes a cell for K
    CHECK(formulas_of(cache, TensorType::q8_0) == Lines{"full K: 1 layer x 1024 x 32768 tokens x 34/32 bytes = 34 MiB",
                                                        "full V: 1 layer x 1024 x 32768 tokens x 2 bytes = 64 MiB"});
    cache.layers = {layer_of(0, 1536, 1024, 100663296, 67108864)};
    CHECK(formulas_of(cache) == Lines{"full K: 1 layer x 1536 x 32768 tokens x 2 bytes = 96 MiB",
                                      "full V: 1 layer x 1024 x 32768 tokens x 2 bytes = 64 MiB"});
}

TEST_CASE("cache formulas: latent attention keeps no V") {
    Cache cache;
    cache.kind = "mla";
    cache.cells = 32768;
    cache.layers = {layer_of(0, 576, 0, 37748736, 0), layer_of(1, 576, 0, 37748736, 0)};
    CHECK(formulas_of(cache) == Lines{"mla: 2 layers x 576 x 32768 tokens x 2 bytes = 72 MiB"});
}

TEST_CASE("cache formulas: windows have cells, slots are counted, unlike layers have lines of their own") {
    Cache cache;
    cache.kind = "swa";
    cache.cells = 1536;
    cache.n_stream = 4;
    cache.layers = {layer_of(0, 1024, 1024, 12582912, 12582912), layer_of(1, 512, 512, 6291456, 6291456),
                    layer_of(2, 1024, 1024, 12582912, 12582912)};
    CHECK(formulas_of(cache) == Lines{"swa: 2 x 2 layers x 1024 x 4 slots x 1536 cells x 2 bytes = 48 MiB",
                                      "swa: 2 x 1 layer x 512 x 4 slots x 1536 cells x 2 bytes = 12 MiB"});
}

TEST_CASE("cache formulas: recurrent state") {
    Cache cache;
    cache.kind = "recurrent";
    cache.recurrent = true;
    CacheLayer layer;
    layer.r_bytes = 384 * kib;
    layer.s_bytes = 8 * mib;
    cache.layers = {layer, layer};
    CHECK(formulas_of(cache) == Lines{"recurrent: 2 layers x (384 KiB R + 8 MiB S) = 17 MiB"}); // 16.75
}
