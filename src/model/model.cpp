#include "vramfit/model/model.hpp"

#include <algorithm>
#include <numeric>

namespace vramfit {
namespace {

// A hyperparameter as a count. Files may hold anything: what is no count at all is 0.
template <typename Count>
Count count_of(double value) {
    constexpr double limit = 4294967295.0; // more than any count of a model, and exact in every type
    return value > 0 ? static_cast<Count>(std::min(value, limit)) : Count{0};
}

} // namespace

std::string Model::full_name_of(const Tensor& tensor) const {
    const std::string& name = tensor_names[tensor.name];
    return tensor.layer < 0 ? name : "blk." + std::to_string(tensor.layer) + "." + name;
}

std::uint32_t Model::n_block() const { return count_of<std::uint32_t>(hparams.get("block_count", 0)); }

std::uint32_t Model::n_layer() const {
    const auto n_mtp = count_of<std::uint32_t>(hparams.get("nextn_predict_layers", 0));
    return n_block() > n_mtp ? n_block() - n_mtp : 0;
}

std::uint64_t Model::n_ctx_train() const { return count_of<std::uint64_t>(hparams.get("context_length", 0)); }

std::uint64_t Model::n_parameters() const {
    return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Tensor& t) { return sum + t.n_elements(); });
}

std::uint64_t tensor_bytes(const Tensor& tensor, TensorType type) {
    return row_size(type, tensor.ne[0]) * tensor.n_rows();
}

} // namespace vramfit
