#include "sweep.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/overhead.hpp"
#include "vramfit/model/file_type.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr const char* any_device = "8192GB";

/// A file type for mixtures of experts, of a model that is none: it would be Q8_0 under another name.
bool is_for_others(FileType type, const Model& model) {
    return type == FileType::mxfp4_moe && model.hparams.get("expert_count", 0) == 0;
}

} // namespace

std::vector<Quant> quants_of(Estimator& estimator, const Request& request) {
    const Model& model = estimator.model();
    const bool imatrix = request.imatrix;
    if (!model.file_type.empty()) return {{model.file_type, estimator.tensor_bytes(FileType::f16, imatrix)}};
    std::vector<FileType> types(published_file_types.begin(), published_file_types.end());
    if (request.quant) types = {parse_file_type(*request.quant)};
    std::vector<Quant> quants;
    for (const FileType type : types) {
        if (!request.quant && (estimator.quant_refusal(type, imatrix) || is_for_others(type, model))) continue;
        quants.push_back({std::string(traits(type).name), estimator.tensor_bytes(type, imatrix)});
    }
    std::ranges::stable_sort(quants, std::ranges::greater{}, &Quant::tensor_bytes);
    return quants;
}

Request on_any_device(Request request) {
    request.gpus = {any_device};
    request.free.reset();
    request.reserve.reset();
    request.tensor_split.clear();
    return request;
}

std::uint64_t needed_bytes(const Trial& trial) {
    const std::uint64_t memory = trial.devices.front().memory.sum();
    Device card; // what the driver keeps depends on the card's size
    card.total = memory;
    card.total = checked_add(memory, overhead_of(card).sum());
    return checked_add(memory, overhead_of(card).sum());
}

std::uint64_t required_bytes(const Trial& trial) {
    std::uint64_t sum = 0;
    for (const DeviceAnswer& device : trial.devices) sum = checked_add(sum, device.required);
    return sum;
}

std::int64_t least_headroom(const Trial& trial) {
    return std::ranges::min(trial.devices, {}, &DeviceAnswer::headroom).headroom;
}

SizedVerdict sized_verdict(const Trial& trial) {
    if (trial.verdict == Verdict::refused) return {std::nullopt, trial.verdict};
    return {required_bytes(trial), trial.verdict};
}

double bits_per_weight(const Model& model, std::uint64_t tensor_bytes) {
    return 8.0 * static_cast<double>(tensor_bytes) /
           static_cast<double>(std::max<std::uint64_t>(1, model.n_parameters()));
}

bool is_good(Verdict verdict, const Request& request) {
    return verdict == Verdict::fit || (verdict == Verdict::tight && !request.strict);
}

TableSubject subject_of(const Request& request, const Judge& judge) {
    TableSubject subject;
    subject.model = judge.model().id;
    subject.quant = request.quant ? std::string(traits(parse_file_type(*request.quant)).name) : judge.model().file_type;
    subject.n_ctx = request.n_ctx;
    subject.type_k = request.type_k.value_or(TensorType::f16);
    subject.type_v = request.type_v.value_or(TensorType::f16);
    subject.runtime = judge.runtime().id;
    return subject;
}

std::vector<std::string> device_names(const Judge& judge) {
    std::vector<std::string> names;
    for (const Device& device : judge.devices()) names.push_back(device.name);
    return names;
}

} // namespace vramfit
