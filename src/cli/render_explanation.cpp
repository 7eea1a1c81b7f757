#include "cli/explain_caches.hpp"
#include "cli/explain_companions.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/weight_table.hpp"
#include "vramfit/base/bytes.hpp"

namespace vramfit::cli {
namespace {

std::string heading(std::string_view text, const Terminal& terminal) {
    return "\n  " + terminal.paint(Color::bold, text) + "\n";
}

using Pieces = std::vector<std::string>;

std::string gpu_name(std::size_t index) { return "GPU " + std::to_string(index); }

/// "loaded: GPU 0 4403.49 MiB, in RAM 281.81 MiB".
std::string places(std::string_view what, const Answer& answer, std::uint64_t DeviceMemory::*part) {
    Pieces pieces;
    for (std::size_t i = 0; i < answer.devices.size(); ++i) {
        pieces.push_back(gpu_name(i) + " " + format_exact_mib(answer.devices[i].memory.*part) + ",");
    }
    pieces.push_back("in RAM " + format_exact_mib(answer.host.*part));
    return wrapped("    " + std::string(what) + ": ", pieces);
}

std::string weights_text(const Answer& answer, const Terminal& terminal) {
    return heading("weights, " + answer.settings.quant, terminal) +
           (answer.weights.empty() ? "    in the file " + format_exact_mib(answer.model.tensor_bytes) + "\n"
                                   : weight_table(answer.weights)) +
           places("loaded", answer, &DeviceMemory::weights);
}

/// A formula, broken at its factors; the result stays with its sign.
std::string formula_text(const std::string& line) {
    const std::size_t equals = line.rfind(" = ");
    Pieces pieces = words_of(std::string_view(line).substr(0, equals));
    pieces.push_back(line.substr(equals + 1));
    return wrapped("    ", pieces);
}

std::string caches_text(const Answer& answer, const Terminal& terminal) {
    const auto lines = cache_formulas(answer, terminal);
    if (lines.empty()) return "";
    std::string text = heading("caches", terminal);
    bool state = false;
    for (const std::string& line : lines) text += formula_text(line);
    for (const Cache& cache : answer.estimate.caches) state = state || cache.recurrent;
    text += places("KV cache", answer, &DeviceMemory::kv_cache);
    if (state) text += places("state", answer, &DeviceMemory::recurrent_state);
    return text;
}

std::string compute_text(const Answer& answer, const Terminal& terminal) {
    const MemoryEstimate& estimate = answer.estimate;
    std::string how = "replay of the prompt graph: " + std::to_string(estimate.context.n_tokens) + " tokens, " +
                      std::to_string(estimate.context.n_outputs) + " outputs, flash attention " +
                      (estimate.flash_attn ? "on" : "off") + ": " + std::to_string(estimate.n_nodes) + " nodes, " +
                      std::to_string(estimate.n_splits) + " splits";
    if (answer.compute_basis != Basis::exact) {
        how = "modelled by a formula, at most " + format_exact_mib(answer.compute_error) + " more";
    }
    std::string text = heading("compute buffers", terminal) + wrapped("    ", how) +
                       places("reserved", answer, &DeviceMemory::compute);
    if (answer.host.output > 0) text += "    output buffer: in RAM " + format_exact_mib(answer.host.output) + "\n";
    return text;
}

std::string companions_text(const Answer& answer, const Terminal& terminal) {
    std::string text;
    for (const std::string& line : companion_lines(answer)) text += wrapped("    ", line);
    return text.empty() ? "" : heading("beside the model", terminal) + text;
}

std::string overhead_text(const Answer& answer, const Terminal& terminal) {
    std::string text = heading("overhead", terminal);
    for (std::size_t i = 0; i < answer.devices.size();) {
        const DeviceAnswer& device = answer.devices[i];
        std::size_t end = i;
        while (end < answer.devices.size() && answer.devices[end].overhead_basis == device.overhead_basis) ++end;
        const std::string names = gpu_name(i) + (end - i > 1 ? " to " + std::to_string(end - 1) : "");
        text += wrapped("    " + names + ": ", device.overhead_basis + " = " + format_mib(device.overhead));
        i = end;
    }
    return text;
}

Pieces equation(const DeviceAnswer& device) {
    Pieces terms;
    const auto add = [&](std::string_view name, std::uint64_t bytes) {
        if (bytes == 0) return;
        terms.push_back((terms.empty() ? "" : "+ ") + std::string(name) + " " + mib_number(bytes));
    };
    add("weights", device.memory.weights);
    add("KV cache", device.memory.kv_cache);
    add("state", device.memory.recurrent_state);
    add("compute", device.memory.compute);
    add("adapters", device.memory.adapters);
    add("projector", device.memory.projector);
    add("draft", device.memory.draft);
    add("overhead", device.overhead);
    terms.push_back("= " + format_exact_mib(device.required));
    return terms;
}

std::string balance(const DeviceAnswer& device) {
    const bool fits = device.required <= device.available;
    const std::uint64_t rest = fits ? device.available - device.required : device.required - device.available;
    return mib_number(device.available) + (device.available == device.total ? "" : " usable") + " - " +
           mib_number(device.required) + " = " + (fits ? "" : "-") + format_exact_mib(rest) +
           (fits ? " free" : ": too much");
}

std::string sums_text(const Answer& answer, const Terminal& terminal) {
    std::string text = heading("sum", terminal);
    for (std::size_t i = 0; i < answer.devices.size(); ++i) {
        const std::string name = "    " + gpu_name(i) + ": ";
        text += wrapped(name, equation(answer.devices[i])) +
                wrapped(std::string(name.size(), ' '), balance(answer.devices[i]));
    }
    return text;
}

} // namespace

std::string render_explanation(const Answer& answer, const Terminal& terminal) {
    return weights_text(answer, terminal) + caches_text(answer, terminal) + compute_text(answer, terminal) +
           companions_text(answer, terminal) + overhead_text(answer, terminal) + sums_text(answer, terminal);
}

} // namespace vramfit::cli
