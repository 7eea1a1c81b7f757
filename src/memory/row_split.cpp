#include "row_split.hpp"

#include "vramfit/model/weights.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr std::uint64_t tile_rows = 128; // get_mmq_y_host of NVIDIA's cards since Volta

} // namespace

bool splits_by_rows(const Tensor& tensor, std::string_view name) {
    const bool matrix = tensor.n_dims == 2 && tensor.ne[1] > 1 && name.ends_with(".weight");
    const bool in_layer = tensor.section == TensorSection::layer || tensor.section == TensorSection::output;
    if (!matrix || !in_layer) return false;
    // Read by a convolution or looked up row by row, not multiplied with.
    return std::ranges::none_of(std::initializer_list<std::string_view>{"conv", "embd", "_exps"},
                                [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

std::vector<std::uint64_t> split_rows(const Tensor& tensor, TensorType type, const std::vector<double>& ends) {
    const std::uint64_t n_rows = tensor.n_rows();
    const std::uint64_t row = row_size(type, tensor.ne[0]);
    std::vector<std::uint64_t> bytes;
    std::uint64_t low = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        // llama.cpp multiplies floats.
        auto high = static_cast<std::uint64_t>(static_cast<float>(n_rows) * static_cast<float>(ends[i]));
        high -= high % tile_rows;
        if (i + 1 == ends.size()) high = n_rows;
        high = std::clamp(high, low, n_rows);
        bytes.push_back(high == low ? 0 : cuda_bytes(type, tensor.ne[0], (high - low) * row));
        low = high;
    }
    return bytes;
}

} // namespace vramfit
