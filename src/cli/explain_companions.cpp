#include "cli/explain_companions.hpp"

#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"

namespace vramfit::cli {
namespace {

constexpr std::size_t widest_name = 60;

/// "weights 811.85 + compute 117.25 = 929.10 MiB": the parts that there are.
std::string equation(const std::vector<std::pair<std::string_view, std::uint64_t>>& parts) {
    std::string text;
    std::uint64_t sum = 0;
    for (const auto& [name, bytes] : parts) {
        if (bytes == 0) continue;
        std::string mebibytes = format_exact_mib(bytes);
        mebibytes.resize(mebibytes.find(' '));
        text += (text.empty() ? "" : " + ") + std::string(name) + " " + mebibytes;
        sum += bytes;
    }
    return text + " = " + format_exact_mib(sum);
}

std::string line_of(const ProjectorAnswer& p) {
    return "projector " + shortened(p.type, widest_name) + (p.on_device ? " on GPU 0: " : " in RAM: ") +
           equation({{"weights", p.weights}, {"compute", p.compute}}) + ", modelled, at most " +
           format_exact_mib(p.error) + " more";
}

std::string line_of(const DraftAnswer& d) {
    const std::string name =
        d.mtp ? "MTP block's context: " : "draft " + shortened(d.model, widest_name) + " " + d.quant + ", everywhere: ";
    return name + equation({{"weights", d.weights},
                            {"KV cache", d.kv_cache},
                            {"state", d.recurrent_state},
                            {"compute", d.compute},
                            {"output", d.output}});
}

} // namespace

std::vector<std::string> companion_lines(const Answer& answer) {
    std::vector<std::string> lines;
    if (answer.projector) lines.push_back(line_of(*answer.projector));
    if (answer.draft) lines.push_back(line_of(*answer.draft));
    for (const AdapterAnswer& adapter : answer.adapters)
        lines.push_back("adapter " + shortened(adapter.name, widest_name) + ": " + std::to_string(adapter.n_tensors) +
                        " tensors, " + format_exact_mib(adapter.bytes));
    return lines;
}

} // namespace vramfit::cli
