// The memory of multimodal projectors: weights to the byte, compute buffers against what people's logs show.

#include "catch.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/projector.hpp"

#include <cmath>

namespace vramfit {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

GgufTensor tensor(std::string name, TensorType type, std::array<std::uint64_t, 4> ne) {
    GgufTensor t;
    t.name = std::move(name);
    t.type = type;
    t.ne = ne;
    t.bytes = row_size(type, ne[0]) * ne[1] * ne[2] * ne[3];
    return t;
}

GgufValue number(std::string key, double value) {
    GgufValue v;
    v.key = std::move(key);
    v.numbers = {value};
    return v;
}

GgufValue text(std::string key, std::string value) {
    GgufValue v;
    v.key = std::move(key);
    v.is_text = true;
    v.text = std::move(value);
    return v;
}

struct Vit {
    std::string type;
    double image_size, patch_size, n_layer, n_embd, n_ff, n_head, out, merge;
    bool gated = false;
    int n_taps = 0;
};

GgufHeader file_of(const Vit& vit) {
    GgufHeader h;
    h.file = "\"mmproj.gguf\"";
    h.kind = GgufKind::projector;
    h.values = {number("clip.has_vision_encoder", 1),
                text("clip.projector_type", vit.type),
                number("clip.vision.attention.head_count", vit.n_head),
                number("clip.vision.block_count", vit.n_layer),
                number("clip.vision.embedding_length", vit.n_embd),
                number("clip.vision.feed_forward_length", vit.n_ff),
                number("clip.vision.image_size", vit.image_size),
                number("clip.vision.patch_size", vit.patch_size),
                number("clip.vision.projection_dim", vit.out),
                number("clip.vision.spatial_merge_size", vit.merge)};
    std::ranges::sort(h.values, {}, &GgufValue::key);
    if (vit.gated) h.tensors.push_back(tensor("v.blk.0.ffn_gate.weight", TensorType::f16, {64, 64, 1, 1}));
    for (int i = 0; i < vit.n_taps; ++i)
        h.tensors.push_back(
            tensor("v.deepstack." + std::to_string(i) + ".fc2.weight", TensorType::f16, {64, 64, 1, 1}));
    return h;
}

ProjectorMemory memory_of(const Vit& vit, FlashAttention flash_attn = FlashAttention::automatic) {
    return projector_memory(read_projector(file_of(vit)), true, flash_attn);
}

const Vit qwen36_27b{"qwen3vl_merger", 768, 16, 27, 1152, 4304, 16, 5120, 2};
const Vit qwen2_vl_7b{"qwen2vl_merger", 560, 14, 32, 1280, 5120, 16, 3584, 2};
const Vit qwen25_vl_7b{"qwen2.5vl_merger", 560, 14, 32, 1280, 3420, 16, 3584, 2, true};
const Vit qwen3_vl_2b{"qwen3vl_merger", 768, 16, 24, 1024, 4096, 16, 2048, 2, false, 3};
const Vit qwen3_vl_235b{"qwen3vl_merger", 768, 16, 27, 1152, 4304, 16, 4096, 2, false, 3};
const Vit gemma3_12b{"gemma3", 896, 14, 27, 1152, 4304, 16, 3840, 1};
const Vit mistral_small{"pixtral", 1540, 14, 24, 1024, 4096, 16, 5120, 2, true};

std::string hundredths(std::uint64_t bytes) { return format_exact_mib(bytes); }

} // namespace

TEST_CASE("a projector's inputs are pixels, positions and the mask of its windows", "[projector]") {
    // "reserve_compute_meta: CPU compute buffer size", as logged
    CHECK(hundredths(memory_of(qwen36_27b).host_compute) == "24.93 MiB"); // 1472 x 1472 pixels
    CHECK(hundredths(memory_of(mistral_small).host_compute) ==
          "2.31 MiB");                                                   // 448 x 448: logged 2.30, two positions less
    CHECK(hundredths(memory_of(gemma3_12b).host_compute) == "9.25 MiB"); // 896 x 896: logged 9.19, without positions
    CHECK(std::abs(static_cast<double>(memory_of(qwen25_vl_7b).host_compute) / mebibyte - 292.41) < 0.05);
}

TEST_CASE("a projector's compute buffer is near what logs show, and never more than its error below", "[projector]") {
    struct Measured {
        const Vit& vit;
        FlashAttention flash_attn;
        double mib;
    };
    // Logs of llama-server: Qwen3.6-27B on CUDA, ROCm and Vulkan, Qwen3-VL-235B and Qwen2.5-VL on CUDA, gemma3 on Metal
    // (pull request 16837) and ROCm, Mistral Small and the others on ROCm.
    const Measured measured[] = {
        {qwen36_27b, FlashAttention::on, 248.10},   {qwen36_27b, FlashAttention::off, 4657.81},
        {qwen2_vl_7b, FlashAttention::on, 267},     {qwen2_vl_7b, FlashAttention::off, 4598},
        {qwen25_vl_7b, FlashAttention::on, 704.79}, {qwen25_vl_7b, FlashAttention::off, 4872},
        {qwen3_vl_2b, FlashAttention::on, 323},     {qwen3_vl_2b, FlashAttention::off, 4728},
        {qwen3_vl_235b, FlashAttention::on, 372},   {gemma3_12b, FlashAttention::on, 121.25},
        {gemma3_12b, FlashAttention::off, 1132.00}, {mistral_small, FlashAttention::on, 62.62},
    };
    for (const Measured& m : measured) {
        const ProjectorMemory memory = memory_of(m.vit, m.flash_attn);
        const double said = static_cast<double>(memory.compute) / mebibyte;
        const double most = static_cast<double>(memory.compute + memory.compute_error) / mebibyte;
        INFO(m.vit.type << ": said " << said << " MiB, logged " << m.mib);
        CHECK(said <= m.mib * 1.03);
        CHECK(said >= m.mib * 0.92);
        CHECK(most >= m.mib);
    }
}

TEST_CASE("a projector of the commonest kind is planned to the hundredth of a MiB", "[projector]") {
    CHECK(hundredths(memory_of(qwen36_27b).compute) == "248.10 MiB");
    CHECK(hundredths(memory_of(qwen36_27b, FlashAttention::off).compute) == "4657.81 MiB");
}

TEST_CASE("a larger image than the planned one takes more", "[projector]") {
    // 4096 tokens of four patches each: 16384 positions of 6 x 1152 floats and 16 x 16 x 3 pixels and 4 positions.
    CHECK(memory_of(qwen36_27b).largest == 16384ULL * 4 * (6 * 1152 + 16 * 16 * 3 + 4));
    CHECK(memory_of(gemma3_12b).largest == 0); // all images are made 896 x 896
}

TEST_CASE("a projector's weights are padded like every tensor of a CUDA buffer", "[projector]") {
    GgufHeader h = file_of(gemma3_12b);
    h.tensors = {
        tensor("v.patch_embd.bias", TensorType::f32, {1152, 1, 1, 1}),       // 4608 bytes
        tensor("mm.soft_emb_norm.weight", TensorType::f32, {9, 1, 1, 1}),    // 36 -> 128, on the host 64
        tensor("v.blk.0.attn_q.weight", TensorType::q8_0, {1152, 2, 1, 1})}; // 2448; 128 off 512: + 408 -> 2944
    const Projector p = read_projector(h);
    CHECK(p.tensor_bytes == 4608 + 36 + 2448);
    CHECK(p.device_weights == 4608 + 128 + 2944);
    CHECK(p.host_weights == 4608 + 64 + 2464);
    CHECK(p.weights_basis == Basis::exact);
}

TEST_CASE("a projector on the host takes nothing of a device", "[projector]") {
    const ProjectorMemory m = projector_memory(read_projector(file_of(gemma3_12b)), false, FlashAttention::automatic);
    CHECK_FALSE(m.on_device);
    CHECK(m.host_compute == 0); // the inputs lie in the one buffer that there is
    CHECK(m.compute > 0);
}

TEST_CASE("vision models of the catalog have known projectors", "[projector]") {
    const auto known = known_projector("qwen3.8-27b");
    REQUIRE(known);
    CHECK(known->tensor_bytes == 927607488); // the published F16 file
    CHECK(known->weights_basis == Basis::typical);
    CHECK(hundredths(projector_memory(*known, true, FlashAttention::automatic).compute) == "248.10 MiB");
    // Published F16 and BF16 files, in bytes: typical sizes are within their error.
    const std::pair<const char*, double> published[] = {
        {"gemma3-4b", 851251104.0}, {"qwen3.5-0.8b", 207346528.0}, {"gemma4-31b", 1200726496.0}};
    for (const auto& [id, bytes] : published) {
        const auto p = known_projector(id);
        REQUIRE(p);
        INFO(id);
        CHECK(static_cast<double>(p->tensor_bytes) <= bytes * 1.01);
        CHECK(static_cast<double>(p->tensor_bytes + p->weights_error) >= bytes);
    }
    CHECK(known_projector("qwen3.6-27b+mtp"));
    CHECK_FALSE(known_projector("llama3.1-8b"));
}

TEST_CASE("a file that is no projector is refused in one line", "[projector]") {
    GgufHeader h = file_of(gemma3_12b);
    h.kind = GgufKind::model;
    CHECK_THROWS_WITH(read_projector(h), "\"mmproj.gguf\" is a model, no projector of images or sound (mmproj)");
    Vit none = gemma3_12b;
    none.patch_size = 0;
    CHECK_THROWS_WITH(read_projector(file_of(none)),
                      "\"mmproj.gguf\": clip.vision.patch_size is missing; it is no projector that llama.cpp loads");
    Vit absurd = gemma3_12b;
    absurd.image_size = 1e12;
    CHECK_THROWS_AS(read_projector(file_of(absurd)), Error);
}

} // namespace vramfit
