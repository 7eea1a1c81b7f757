#include "vramfit/model/weights.hpp"

#include "vramfit/base/bytes.hpp"

#include <cassert>

namespace vramfit {

namespace {

constexpr std::uint64_t cuda_alignment = 128;
constexpr std::uint64_t host_alignment = 32;
constexpr std::uint64_t cuda_row_padding = 512; // elements, MATRIX_ROW_PADDING

} // namespace

std::uint64_t file_tensor_bytes(const Model& model, const std::vector<TensorType>& types) {
    assert(types.size() == model.tensors.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        sum += tensor_bytes(model.tensors[i], types[i]);
    }
    return sum;
}

std::uint64_t cuda_alloc_size(const Tensor& tensor, TensorType type) {
    std::uint64_t bytes = tensor_bytes(tensor, type);
    const std::uint64_t over = tensor.ne[0] % cuda_row_padding;
    if (traits(type).quantized && over != 0) {
        bytes += row_size(type, cuda_row_padding - over);
    }
    return pad(bytes, cuda_alignment);
}

std::uint64_t host_alloc_size(const Tensor& tensor, TensorType type) {
    return pad(tensor_bytes(tensor, type), host_alignment);
}

} // namespace vramfit
