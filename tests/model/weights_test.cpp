#include "vramfit/model/weights.hpp"

#include "catch.hpp"

using vramfit::cuda_alloc_size;
using vramfit::host_alloc_size;
using vramfit::Tensor;
using vramfit::tensor_bytes;
using vramfit::TensorType;

namespace {

Tensor matrix(std::uint64_t n_cols, std::uint64_t n_rows, std::uint64_t n_matrices = 1) {
    Tensor tensor;
    tensor.ne = {n_cols, n_rows, n_matrices, 1};
    return tensor;
}

} // namespace

TEST_CASE("rows of a multiple of 512 need no padding on CUDA") {
    const Tensor attn_q = matrix(4096, 4096);
    CHECK(cuda_alloc_size(attn_q, TensorType::q4_k) == 9437184);
    CHECK(host_alloc_size(attn_q, TensorType::q4_k) == 9437184);
}

TEST_CASE("CUDA pads the last row of a quantized tensor to 512 elements, and the tensor to 128 bytes") {
    // Qwen2.5 0.5B: 896 columns are 128 short of 1024. q8_0: 128 elements are 4 blocks of 34 bytes.
    const Tensor tensor = matrix(896, 128);
    REQUIRE(tensor_bytes(tensor, TensorType::q8_0) == 121856);  // 128 rows of 28 blocks, a multiple of 128
    CHECK(cuda_alloc_size(tensor, TensorType::q8_0) == 122112); // + 136 = 121992, padded
    CHECK(host_alloc_size(tensor, TensorType::q8_0) == 121856);
    // once a tensor, however many matrices it has
    CHECK(cuda_alloc_size(matrix(896, 128, 4), TensorType::q8_0) == 4 * 121856 + 256);
}

TEST_CASE("unquantized tensors are padded to 128 bytes on CUDA and to 32 on the host only") {
    const Tensor vector = matrix(100, 1);
    CHECK(cuda_alloc_size(vector, TensorType::f32) == 512);
    CHECK(host_alloc_size(vector, TensorType::f32) == 416);
    CHECK(cuda_alloc_size(matrix(896, 1), TensorType::f32) == 3584);
}

TEST_CASE("a file's tensor bytes are the sum over its tensors") {
    vramfit::Model model;
    model.tensors = {matrix(4096, 4096), matrix(4096, 1024), matrix(4096, 1)};
    CHECK(vramfit::file_tensor_bytes(model, {TensorType::q4_k, TensorType::q6_k, TensorType::f32}) ==
          9437184 + 3440640 + 16384);
    CHECK(vramfit::file_tensor_bytes({}, {}) == 0);
}
