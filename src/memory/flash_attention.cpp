#include "vramfit/memory/flash_attention.hpp"

namespace vramfit {
namespace {

// The kernels of a default build take K and V of one type, and these types only (GGML_CUDA_FA_ALL_QUANTS is off).
bool types_supported(TensorType k, TensorType v) {
    return k == v && (k == TensorType::f32 || k == TensorType::f16 || k == TensorType::bf16 || k == TensorType::q8_0 ||
                      k == TensorType::q4_0);
}

bool heads_supported(std::uint64_t head_k, std::uint64_t head_v, std::uint64_t n_gqa) {
    switch (head_k) {
    case 40:
    case 64:
    case 72:
    case 80:
    case 96:
    case 112:
    case 128:
    case 256: return head_v == head_k;
    case 192: return head_v == 128 && n_gqa % 8 == 0;
    case 320: return head_v == 256 && n_gqa % 32 == 0;
    case 512: return head_v == 512 && n_gqa >= 2;
    case 576: return head_v == 512 && n_gqa % 4 == 0;
    default: return false;
    }
}

} // namespace

bool cuda_flash_attention(TensorType type_k, TensorType type_v, std::uint64_t head_k, std::uint64_t head_v,
                          std::uint64_t n_gqa) {
    return types_supported(type_k, type_v) && heads_supported(head_k, head_v, n_gqa);
}

} // namespace vramfit
