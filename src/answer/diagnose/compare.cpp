#include "vramfit/answer/diagnosis.hpp"

#include "conclude.hpp"
#include "log_reader.hpp"
#include "log_text.hpp"
#include "model_guess.hpp"
#include "request_of.hpp"
#include "wording.hpp"

#include "vramfit/base/error.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::string_view name_of(BufferKind kind) {
    switch (kind) {
    case BufferKind::weights: return "weights";
    case BufferKind::kv_cache: return "kv_cache";
    case BufferKind::recurrent_state: return "recurrent_state";
    case BufferKind::compute: return "compute";
    case BufferKind::output: break;
    }
    return "output";
}

std::uint64_t part_of(const HostMemory& memory, BufferKind kind) {
    switch (kind) {
    case BufferKind::weights: return memory.weights;
    case BufferKind::kv_cache: return memory.kv_cache;
    case BufferKind::recurrent_state: return memory.recurrent_state;
    case BufferKind::compute: return memory.compute;
    case BufferKind::output: break;
    }
    return memory.output;
}

HostMemory as_host(const DeviceMemory& memory) {
    HostMemory host;
    static_cast<DeviceMemory&>(host) = memory;
    return host;
}

/// Devices of the load, in the order in which llama.cpp counts them.
std::vector<std::string> devices_with_buffers(const Load& load) {
    std::vector<std::string> names;
    for (const LogDevice& device : load.devices) {
        if (load.on_device(device.name) > 0) names.push_back(device.name);
    }
    for (const LogBuffer& buffer : load.buffers) {
        const std::string name(device_of_buffer(buffer.device));
        if (!is_host_buffer(buffer.device) && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
}

ComparedFigure logged_figure(const Load& load, BufferKind kind, const std::string& device) {
    ComparedFigure figure;
    figure.component = name_of(kind);
    figure.device = device.empty() ? "host" : device;
    for (const LogBuffer& buffer : load.buffers) {
        const bool here = device.empty() ? is_host_buffer(buffer.device)
                                         : !is_host_buffer(buffer.device) && device_of_buffer(buffer.device) == device;
        if (buffer.kind != kind || !here || buffer.part != LoadPart::model) continue;
        figure.logged += buffer.bytes;
        if (figure.line == 0) figure.line = buffer.line;
    }
    return figure;
}

void compare_place(Comparison& comparison, const Load& load, const HostMemory& predicted, const std::string& device) {
    for (const BufferKind kind : {BufferKind::weights, BufferKind::kv_cache, BufferKind::recurrent_state,
                                  BufferKind::compute, BufferKind::output}) {
        ComparedFigure figure = logged_figure(load, kind, device);
        figure.predicted = part_of(predicted, kind);
        if (figure.line == 0) continue; // what the log does not show cannot be compared
        comparison.figures.push_back(std::move(figure));
    }
}

const Load* load_with_figures(const LogFacts& facts) {
    if (facts.last->has_buffers()) return &*facts.last;
    if (facts.last_complete) return &*facts.last_complete;
    return facts.last_failed && facts.last_failed->has_buffers() ? &*facts.last_failed : nullptr;
}

std::string first_missing(const Comparison& comparison, const Request& request) {
    if (request.model.empty()) return std::string("the log shows no model that the catalog knows; give --model");
    if (!request.quant && comparison.quant.empty()) return "the log does not show the quantization; give --quant";
    if (!request.n_ctx) return "the log does not show the context; give --ctx";
    return "";
}

} // namespace

Comparison compare(const ByteStream& log, const Request& hints) {
    const LogFacts facts = LogReader::read(log);
    if (facts.n_bytes == 0) throw Error("the log is empty; give the output of the program");
    Comparison comparison;
    comparison.runtime = facts.runtime();
    const Load* load = load_with_figures(facts);
    if (load == nullptr || !runs_llama_cpp(comparison.runtime)) {
        comparison.reason = "the log shows no buffers of llama.cpp to compare with";
        return comparison;
    }
    Diagnosis shown = conclude(facts, *load);
    shown.model_id = hints.model.empty() ? guess_model(*load) : hints.model;
    comparison.model_name = shown.model_name;
    comparison.model_id = shown.model_id;
    Request request = request_of(*load, shown, hints);
    comparison.quant = request.quant.value_or("");
    comparison.n_ctx = request.n_ctx.value_or(0);
    comparison.reason = first_missing(comparison, request);
    if (!comparison.reason.empty()) return comparison;

    const std::vector<std::string> devices = devices_with_buffers(*load);
    if (devices.empty() || devices.size() > 64) {
        comparison.reason = "the log shows no buffers on a GPU";
        return comparison;
    }
    if (request.gpus.size() != devices.size()) { // how much a device has does not matter to what is put there
        request.gpus.assign(devices.size(), "1TiB");
        request.free.reset();
        request.tensor_split.clear();
    }
    const Answer answered = answer(request);
    for (std::size_t i = 0; i < devices.size() && i < answered.devices.size(); ++i)
        compare_place(comparison, *load, as_host(answered.devices[i].memory), devices[i]);
    compare_place(comparison, *load, answered.host, "");
    if (comparison.figures.empty()) comparison.reason = "the log shows no buffers to compare with";
    return comparison;
}

} // namespace vramfit
