#include "vramfit/model/weights.hpp"

#include "vramfit/base/bytes.hpp"

#include <cassert>

namespace vramfit {

namespace {

constexpr std::uint64_t cuda_row_padding = 512; // elements, MATRIX_ROW_PADDING

} // namespace

std::uint64_t file_tensor_bytes(const Model& model, const std::vector<TensorType>& types) {
    assert(types.size() == model.tensors.size());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        sum = checked_add(sum, tensor_bytes(model.tensors[i], types[i]), "the file");
    }
    return sum;
}

std::uint64_t cuda_bytes(TensorType type, std::uint64_t ne0, std::uint64_t bytes) {
    const std::uint64_t over = ne0 % cuda_row_padding;
    return traits(type).quantized && over != 0 ? bytes + row_size(type, cuda_row_padding - over) : bytes;
}

std::uint64_t cuda_alloc_size(const Tensor& tensor, TensorType type) {
    return pad(cuda_bytes(type, tensor.ne[0], tensor_bytes(tensor, type)), cuda_alignment);
}

std::uint64_t host_alloc_size(const Tensor& tensor, TensorType type) {
    return pad(tensor_bytes(tensor, type), host_alignment);
}

} // namespace vramfit
