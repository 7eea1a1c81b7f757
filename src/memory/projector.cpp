#include "vramfit/memory/projector.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/flash_attention.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t f32_bytes = 4;
constexpr std::uint64_t n_audio_positions = 1500; // half a minute, as whisper's encoder counts (clip.cpp, warmup)
// The buffers that people's logs show lie from 0.5 % below to 8 % above the formula (tests/memory/projector_test.cpp).
constexpr std::uint64_t error_share = 8;
// An encoder without attention layers to count with (gemma3n's MobileNet): nobody has published its buffer.
constexpr std::uint64_t unknown_compute = 256 * mib;

std::uint64_t product(std::initializer_list<std::uint64_t> factors) {
    std::uint64_t result = 1;
    for (const std::uint64_t factor : factors) result = checked_mul(result, factor, "a projector");
    return result;
}

std::uint64_t sum(std::initializer_list<std::uint64_t> terms) {
    std::uint64_t result = 0;
    for (const std::uint64_t term : terms) result = checked_add(result, term, "a projector");
    return result;
}

/// What the graph reads: the pixels in three colours, positions in up to four dimensions, the mask of the windows.
std::uint64_t input_bytes(const Encoder& e, std::uint64_t n_positions) {
    if (e.audio) return product({e.n_mel, 2 * n_positions, f32_bytes});
    const std::uint64_t pixels = product({n_positions, e.patch_size, e.patch_size, 3, f32_bytes});
    const std::uint64_t positions = product({n_positions, 4, f32_bytes});
    return sum({pixels, positions, e.windows ? product({n_positions, n_positions, f32_bytes}) : 0});
}

/// The widest moment of the graph, in floats a position (clip.cpp, build_vit). With flash attention Q, K and V lie
/// beside what they were made of; without it there is the matrix of scores. Outputs for the language model that are
/// tapped from a layer stay to the end, and are put behind each other there.
std::uint64_t floats_a_position(const Encoder& e, bool flash_attn, std::uint64_t n_positions) {
    const std::uint64_t kept = product({e.n_taps, e.n_embd});
    const std::uint64_t attention =
        flash_attn ? product({6, e.n_embd}) : sum({product({7, e.n_embd}), product({n_positions, e.n_head})});
    const std::uint64_t ffn = sum({product({e.gated ? 3ULL : 1ULL, e.n_ff}), product({2, e.n_embd})});
    const std::uint64_t taps = sum({product({e.n_taps + 1, e.n_embd}), product({e.n_taps, e.n_embd_out}) / 2});
    return std::max({sum({attention, kept}), sum({ffn, kept}), e.n_taps > 0 ? taps : 0});
}

struct Buffers {
    std::uint64_t device = 0, inputs = 0;
};

/// The buffer on the device has copies of the inputs, which live as long as the graph.
Buffers buffers_of(const Encoder& e, bool flash_attn, std::uint64_t n_positions) {
    Buffers b;
    b.inputs = input_bytes(e, n_positions);
    b.device = sum({b.inputs, product({n_positions, floats_a_position(e, flash_attn, n_positions), f32_bytes})});
    if (!e.audio && e.n_layer == 0 && e.n_embd == 0) b.device = unknown_compute;
    return b;
}

bool has_kernel(const Encoder& e) {
    const std::uint64_t head = e.n_head == 0 ? 0 : e.n_embd / e.n_head;
    return cuda_flash_attention(TensorType::f16, TensorType::f16, head, head, 1);
}

} // namespace

std::uint64_t Encoder::n_positions() const {
    if (audio) return n_audio_positions;
    const std::uint64_t side = image_size / std::max<std::uint64_t>(1, patch_size);
    return side * side;
}

ProjectorMemory projector_memory(const Projector& projector, bool on_device, FlashAttention flash_attn) {
    ProjectorMemory m;
    m.on_device = on_device;
    m.weights = on_device ? projector.device_weights : projector.host_weights;
    std::uint64_t grown = 0;
    for (const Encoder& e : projector.encoders) {
        const bool flash = flash_attn != FlashAttention::off && (!on_device || has_kernel(e));
        const Buffers planned = buffers_of(e, flash, e.n_positions());
        m.compute = sum({m.compute, planned.device});
        if (on_device) m.host_compute = sum({m.host_compute, planned.inputs});
        const bool guessed = e.audio || e.n_layer == 0;
        m.compute_error = sum({m.compute_error, guessed ? planned.device : planned.device / error_share});
        m.flash_attn = m.flash_attn || flash;
        const std::uint64_t most = std::max(e.n_most, e.n_positions());
        grown = sum({grown, e.audio ? planned.device : buffers_of(e, flash, most).device});
    }
    m.error = sum({m.compute_error, projector.weights_error});
    m.largest = grown > m.compute ? grown : 0;
    return m;
}

} // namespace vramfit
