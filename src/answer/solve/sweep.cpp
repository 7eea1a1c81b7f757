#include "sweep.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/hardware/overhead.hpp"
#include "vramfit/model/file_type.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>

namespace vramfit {
namespace {

constexpr const char* any_device = "8192GB";

} // namespace

std::vector<Quant> quants_of(Estimator& estimator, const Request& request) {
    const Model& model = estimator.model();
    const bool imatrix = request.imatrix;
    if (!model.file_type.empty()) return {{model.file_type, estimator.tensor_bytes(FileType::f16, imatrix)}};
    const std::vector<FileType> types =
        request.quant ? std::vector{parse_file_type(*request.quant)} : file_types_of(model);
    std::vector<Quant> quants;
    for (const FileType type : types) {
        if (!request.quant && estimator.quant_refusal(type, imatrix)) continue;
        const std::uint64_t bytes = estimator.tensor_bytes(type, imatrix);
        // As its makers publish it, a model may be smaller than in types with more bits: they lose to it in everything,
        // and so do those that save next to nothing.
        constexpr std::uint64_t least_saving = 20; // a twentieth
        if (types.front() == FileType::mxfp4_moe && !quants.empty() &&
            bytes > quants.front().tensor_bytes - quants.front().tensor_bytes / least_saving)
            continue;
        quants.push_back({std::string(traits(type).name), bytes});
    }
    std::ranges::stable_sort(quants, std::ranges::greater{}, &Quant::tensor_bytes);
    return quants;
}

Request on_any_device(Request request) {
    if (!request.tensor_split.empty())
        throw Error("--tensor-split is about GPUs that are given; give them, or leave it out");
    if (request.free) throw Error("--free is about a GPU that is given; give it, or leave it out");
    request.gpus = {any_device};
    request.reserve.reset();
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

void note_slots(Table& table, const Request& request, const Trial& trial) {
    const ContextPlan& context = trial.estimate.context;
    if (!request.parallel || context.n_seqs < 2) return;
    const std::string slots = std::to_string(context.n_seqs) + " slots ";
    table.notes.push_back(context.n_stream > 1 ? slots + "divide each context, whose parts are multiples of " +
                                                     std::to_string(n_cells_pad) + " tokens"
                                               : slots + "share each context");
}

void note_refusal(Table& table, const Trial& trial) {
    if (!trial.estimate.refusal) return;
    std::string note = table.subject->runtime + " refuses these settings: " + *trial.estimate.refusal;
    if (std::ranges::find(table.notes, note) == table.notes.end()) table.notes.push_back(std::move(note));
}

double bits_per_weight(const Model& model, std::uint64_t tensor_bytes) {
    return 8.0 * static_cast<double>(tensor_bytes) /
           static_cast<double>(std::max<std::uint64_t>(1, model.n_parameters()));
}

bool is_good(Verdict verdict, const Request& request) {
    return verdict == Verdict::fit || (verdict == Verdict::tight && !request.strict);
}

TableSubject subject_of(const Request& request) {
    TableSubject subject;
    if (request.quant) subject.quant = traits(parse_file_type(*request.quant)).name;
    subject.n_ctx = request.n_ctx;
    subject.type_k = request.type_k.value_or(TensorType::f16);
    subject.type_v = request.type_v.value_or(TensorType::f16);
    subject.runtime = find_runtime(request.runtime).id;
    if (request.gpus.empty()) return subject;
    for (const Device& device : requested_devices(request)) subject.devices.push_back(device.name);
    return subject;
}

TableSubject subject_of(const Request& request, const Judge& judge) {
    TableSubject subject = subject_of(request);
    subject.model = judge.model().id;
    if (!request.quant) subject.quant = judge.model().file_type;
    return subject;
}

} // namespace vramfit
