#include "compare_places.hpp"
#include "compare_reasons.hpp"
#include "conclude.hpp"
#include "log_reader.hpp"
#include "plausible.hpp"
#include "request_of.hpp"
#include "subject.hpp"
#include "tokens_beside.hpp"
#include "wording.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>
#include <limits>

namespace vramfit {
namespace {

const Load* load_with_figures(const LogFacts& facts) {
    const auto has_figures = [](const Load& load) { return load.has_buffers() || !load.table.empty(); };
    if (has_figures(*facts.last)) return &*facts.last;
    if (facts.last_complete) return &*facts.last_complete;
    return facts.last_failed && has_figures(*facts.last_failed) ? &*facts.last_failed : nullptr;
}

std::string first_missing(const Request& request, const Subject& subject) {
    if (!subject.known())
        return "the log shows no model that the catalog knows, and too little of its own; give --model";
    if (!request.n_ctx) return "the log does not show the context; give --ctx";
    return "";
}

bool has_types(const Request& request, const Subject& subject) {
    return request.quant || !subject.estimator->model().file_type.empty();
}

HostMemory as_host(const DeviceMemory& memory) {
    HostMemory host;
    static_cast<DeviceMemory&>(host) = memory;
    return host;
}

/// What the estimator says of each place, the host behind the devices.
std::vector<HostMemory> predicted_places(const Load& load, const Request& request, Estimator& estimator) {
    const Answer answered = answer(request, estimator);
    std::vector<HostMemory> places;
    places.reserve(answered.devices.size() + 1);
    for (const DeviceAnswer& device : answered.devices) places.push_back(as_host(device.memory));
    places.push_back(answered.host);
    if (reserves_all_outputs(load)) { // logits were reserved for every token, and read one a sequence
        Request server = request;
        server.runtime = "llama.cpp";
        places.back().output = answer(server, estimator).host.output;
    }
    return places;
}

/// How many layers' experts lie in RAM is not in every log, but the weights on the GPU tell.
void guess_experts(Comparison& comparison, const std::vector<LoggedPlace>& logged, Request& request,
                   Estimator& estimator) {
    const Model& model = estimator.model();
    const auto wanted = logged.front().part(BufferKind::weights);
    const bool open = request.n_cpu_moe == 0 && request.override_tensors.empty() && !request.n_gpu_layers;
    if (!wanted || !open || logged.size() != 2 || model.hparams.get("expert_count", 0) == 0) return;
    const auto on_device = [&](std::uint32_t n_cpu_moe) {
        Request tried = request;
        tried.n_cpu_moe = n_cpu_moe;
        return answer(tried, estimator).devices.front().memory.weights;
    };
    std::uint32_t low = 0, high = model.n_layer();
    while (low < high) { // the more experts lie in RAM, the less on the device
        const std::uint32_t middle = (low + high) / 2;
        if (on_device(middle) <= wanted->bytes + wanted->rounding)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0 || on_device(low) + wanted->rounding < wanted->bytes) return;
    request.n_cpu_moe = low;
    comparison.notes.push_back("the experts of " + std::to_string(low) +
                               " layers lie in RAM, as the logged weights show");
}

std::string_view why_caches_alone(std::size_t n_devices, const Subject& subject) {
    if (n_devices == 0) return "all lies in RAM: the cache alone is compared";
    return subject.weights_known ? "the log does not show the quantization: the cache alone is compared; --quant "
                                   "compares all"
                                 : "the log does not show what tensors the model has: the cache alone is compared; "
                                   "--model compares all";
}

/// Caches alone, all together: they depend neither on the file type nor on what lies where.
void compare_caches(Comparison& comparison, const std::vector<LoggedPlace>& logged, const Request& request,
                    Estimator& estimator) {
    LoggedPart sum;
    std::size_t n_places = 0;
    std::string device;
    for (const LoggedPlace& place : logged) {
        for (const BufferKind kind : {BufferKind::kv_cache, BufferKind::recurrent_state}) {
            const auto part = place.part(kind);
            if (!part) continue;
            if (device != place.name) ++n_places;
            device = place.name;
            if (sum.line == 0) sum.line = part->line;
            sum.bytes += part->bytes;
            sum.rounding += part->rounding;
        }
    }
    if (n_places == 0) return;
    ComparedFigure figure{"kv_cache", n_places == 1 ? device : "all", sum.bytes, 0, sum.line, sum.rounding, {}};
    Request asked = request;
    asked.kv_offload = figure.device != "host"; // what lies on a device is padded
    figure.predicted = cache_need(asked, estimator).bytes;
    comparison.figures.push_back(std::move(figure));
}

void compare_places(Comparison& comparison, const Load& load, const std::vector<LoggedPlace>& logged,
                    const Request& request, Estimator& estimator) {
    const std::vector<HostMemory> predicted = predicted_places(load, request, estimator);
    for (std::size_t i = 0; i < logged.size() && i < predicted.size(); ++i) {
        for (const BufferKind kind : buffer_kinds) {
            const auto part = logged[i].part(kind); // what the log does not show cannot be compared
            if (!part) continue;
            std::uint64_t bytes = part_of(predicted[i], kind);
            if (part->with_state) bytes += predicted[i].recurrent_state;
            comparison.figures.push_back(
                {std::string(name_of(kind)), logged[i].name, part->bytes, bytes, part->line, part->rounding, {}});
        }
    }
}

} // namespace

Comparison compare(const ByteStream& log, const Request& hints) {
    check_hints(hints);
    const LogFacts facts = LogReader::read(log);
    if (facts.n_bytes == 0) throw Error("the log is empty; give the output of the program");
    Comparison comparison;
    comparison.runtime = facts.runtime();
    const Load* found = load_with_figures(facts);
    if (found == nullptr || !runs_llama_cpp(comparison.runtime)) {
        comparison.reason = "the log shows no buffers of llama.cpp to compare with";
        return comparison;
    }
    const Load believed = without_impossible(*found);
    const Load* const load = &believed;
    Diagnosis shown = conclude(facts, *load);
    identify_quant(shown, *load, hints);
    const Subject subject = subject_of(*load, hints);
    comparison.model_name = shown.model_name;
    comparison.model_id = subject.id;
    comparison.model_guess = subject.shape_of;
    Request request = request_of(*load, shown, hints, subject);
    comparison.quant = request.quant.value_or("");
    comparison.n_ctx = request.n_ctx.value_or(0);
    comparison.reason = first_missing(request, subject);
    if (!comparison.reason.empty()) return comparison;

    const std::vector<LoggedPlace> logged = logged_places(*load);
    const std::size_t n_devices = logged.size() - 1;
    const bool caches_alone = !subject.weights_known || !has_types(request, subject) || n_devices == 0;
    if (caches_alone) {
        comparison.notes.emplace_back(why_caches_alone(n_devices, subject));
        try {
            compare_caches(comparison, logged, request, *subject.estimator);
        } catch (const Error& error) {
            if (subject.named) throw;
            comparison.reason = "the log shows too little of its model: " + std::string(error.what());
            return comparison;
        }
    } else {
        if (request.gpus.size() != n_devices) { // how much a device has does not matter to what is put there
            request.gpus.assign(n_devices, "1TiB");
            request.free.reset();
            request.tensor_split.clear();
        }
        try {
            guess_experts(comparison, logged, request, *subject.estimator);
            compare_places(comparison, *load, logged, request, *subject.estimator);
        } catch (const Error& error) {
            if (subject.named) throw;
            comparison.reason = "the log's settings cannot be estimated: " + std::string(error.what());
            return comparison;
        }
    }
    add_reasons(comparison, *load, request);
    if (comparison.figures.empty()) comparison.reason = "the log shows no buffers to compare with";
    return comparison;
}

} // namespace vramfit
