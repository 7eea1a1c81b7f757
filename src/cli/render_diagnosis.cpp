#include "cli/render_diagnosis.hpp"

#include "cli/json.hpp"
#include "cli/layout.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t label_width = 14;

std::string_view what_failed(const Diagnosis& diagnosis) {
    if (diagnosis.oom && diagnosis.at_check) return "before loading";
    if (diagnosis.training && diagnosis.stage == FailureStage::compute) return "during training";
    switch (diagnosis.stage) {
    case FailureStage::weights: return "weights";
    case FailureStage::kv_cache: return "KV cache";
    case FailureStage::compute: return "compute buffer";
    case FailureStage::generation: return diagnosis.time_known ? "during generation" : "while loading or running";
    case FailureStage::mmproj: return "multimodal projector";
    case FailureStage::host: return "the computer's memory";
    case FailureStage::settings: return "a setting";
    case FailureStage::per_buffer_limit: return "limit of a single buffer";
    case FailureStage::none: break;
    }
    return "";
}

std::string head_line(const Diagnosis& diagnosis, const Terminal& terminal) {
    const std::string_view verdict = diagnosis.oom                              ? "OUT OF MEMORY"
                                     : diagnosis.cause == FailureCause::none    ? "NO MEMORY FAILURE"
                                     : diagnosis.cause == FailureCause::setting ? "REFUSED"
                                                                                : "NOT MEMORY";
    const Color color = diagnosis.oom                           ? Color::red
                        : diagnosis.cause == FailureCause::none ? Color::green
                                                                : Color::yellow;
    std::string left = terminal.paint(color, verdict);
    const std::string_view what = what_failed(diagnosis);
    if (!what.empty()) left += "  " + std::string(what);
    if (!diagnosis.device.empty() && diagnosis.oom) left += ", " + shortened(printable(diagnosis.device), 30);
    if (!diagnosis.gpu.empty() && diagnosis.oom) left += " (" + shortened(printable(diagnosis.gpu), 34) + ")";
    return edges(left, diagnosis.program.empty() ? name_of(diagnosis.runtime) : std::string_view(diagnosis.program));
}

/// `text` behind `first` on lines of the screen's width; what has no blanks to break it at (a path, a name) is cut where
/// the line ends.
std::string lines_of(std::string_view first, std::string_view text) {
    const std::size_t width = screen_width - std::min(display_width(first), screen_width / 2);
    std::vector<std::string> pieces;
    for (std::string_view word : words_of(text)) {
        while (display_width(word) > width) {
            std::size_t length = width;
            while (display_width(word.substr(0, length + 1)) <= width) ++length;
            pieces.emplace_back(word.substr(0, length));
            word.remove_prefix(length);
        }
        pieces.emplace_back(word);
    }
    return wrapped(first, pieces);
}

std::string labelled(std::string_view label, const std::string& text) {
    return lines_of("  " + pad_right(label, label_width), text);
}

std::string line_text(std::uint64_t line) { return line == 0 ? "" : " (line " + std::to_string(line) + ")"; }

/// "gemma3-27b (line 5), Q4_K_M (line 51), context 131072 (line 139), 63 of 63 layers on the GPU (line 131)"
std::string in_effect(const Diagnosis& diagnosis) {
    std::vector<std::string> parts;
    const auto add = [&](const std::string& part, std::uint64_t line) { parts.push_back(part + line_text(line)); };
    const std::string model = printable(diagnosis.model_name.empty() ? diagnosis.model_id : diagnosis.model_name);
    if (!model.empty()) add(model, diagnosis.model_line);
    if (!diagnosis.model_guess.empty()) parts.push_back("the shape of " + diagnosis.model_guess);
    if (!diagnosis.quant.empty()) add(printable(diagnosis.quant), diagnosis.quant_line);
    if (const LogFigure* n_ctx = diagnosis.figure("n_ctx")) add("context " + std::to_string(n_ctx->value), n_ctx->line);
    if (const LogFigure* slots = diagnosis.figure("n_parallel"))
        add(std::to_string(slots->value) + (slots->value == 1 ? " slot" : " slots"), slots->line);
    for (const LogSetting& setting : diagnosis.settings) {
        if (setting.name == "cache_type_k") add("K cache " + shortened(printable(setting.value), 20), setting.line);
        if (setting.name == "cache_type_v") add("V cache " + shortened(printable(setting.value), 20), setting.line);
        if (setting.name == "gpu_memory_utilization" || setting.name == "mem_fraction_static")
            add((setting.name.starts_with("gpu") ? "utilization " : "static share ") + printable(setting.value),
                setting.line);
    }
    const LogFigure* layers = diagnosis.figure("gpu_layers");
    const LogFigure* all = diagnosis.figure("gpu_layers_of");
    if (layers != nullptr && all != nullptr)
        add(std::to_string(layers->value) + " of " + std::to_string(all->value) + " layers on the GPU", layers->line);
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    return text;
}

std::string memory_text(const Diagnosis& diagnosis) {
    std::string text;
    for (const auto& [name, label] :
         {std::pair("weights", "weights "), {"kv_cache", "KV cache "}, {"compute", "compute "}}) {
        const LogFigure* figure = diagnosis.figure(name);
        if (figure == nullptr) continue;
        text += (text.empty() ? "" : ", ") + std::string(label) + format_bytes(figure->value) + line_text(figure->line);
    }
    return text;
}

std::string flags_text(const std::vector<std::string>& flags) {
    std::string text;
    for (const std::string& flag : flags) text += (text.empty() ? "" : " ") + printable(flag);
    return text;
}

std::string action_text(const DiagnosisAction& action, std::size_t number, const Terminal& terminal) {
    std::string text = flags_text(action.flags);
    if (!text.empty()) text = terminal.paint(Color::bold, text) + ": ";
    text += printable(action.summary);
    if (action.verdict) text += " [" + std::string(name_of(*action.verdict)) + "]";
    return lines_of("  " + std::to_string(number) + ". ", text);
}

std::string asked_for(const Diagnosis& diagnosis) {
    std::string text = "To have this confirmed by the estimator, add";
    for (std::size_t i = 0; i < diagnosis.missing.size(); ++i)
        text += (i == 0 ? " " : i + 1 == diagnosis.missing.size() ? " and " : ", ") + diagnosis.missing[i];
    return text + ": the log does not show " + (diagnosis.missing.size() == 1 ? "it." : "them.");
}

Json json_of(const LogFigure& figure) {
    return {{figure.bytes ? "bytes" : "value", figure.value}, {"line", figure.line}};
}

Json json_of(const DiagnosisAction& action) {
    return {{"kind", action.kind},
            {"summary", action.summary},
            {"flags", action.flags},
            {"verdict", action.verdict ? Json(name_of(*action.verdict)) : Json(nullptr)}};
}

Json text_or_none(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

} // namespace

std::string render_diagnosis_text(const Diagnosis& diagnosis, const Terminal& terminal) {
    std::string text = head_line(diagnosis, terminal) + "\n" + lines_of("  ", printable(diagnosis.summary) + ".");
    if (!diagnosis.arithmetic.empty()) {
        text += "\n";
        for (const std::string& line : diagnosis.arithmetic) text += lines_of("  - ", printable(line));
    }
    const std::string settings = in_effect(diagnosis), memory = memory_text(diagnosis);
    if (!settings.empty() || !memory.empty()) text += "\n";
    if (!settings.empty()) text += labelled("in effect", settings);
    if (!memory.empty()) text += labelled("logged", memory);
    if (!diagnosis.actions.empty()) {
        text += "\n  What to do, best first:\n";
        for (std::size_t i = 0; i < diagnosis.actions.size(); ++i)
            text += action_text(diagnosis.actions[i], i + 1, terminal);
    }
    if (!diagnosis.missing.empty()) text += "\n" + lines_of("  ", asked_for(diagnosis));
    if (!diagnosis.notes.empty()) text += "\n";
    for (const std::string& note : diagnosis.notes) text += lines_of("  note: ", printable(note));
    return text;
}

std::string render_diagnosis_json(const Diagnosis& diagnosis) {
    Json figures = Json::object(), settings = Json::object(), actions = Json::array();
    for (const LogFigure& figure : diagnosis.figures) figures[figure.name] = json_of(figure);
    Json lines = Json::object();
    if (diagnosis.model_line > 0) lines["model"] = diagnosis.model_line;
    if (diagnosis.quant_line > 0) lines["quant"] = diagnosis.quant_line;
    for (const LogSetting& setting : diagnosis.settings) {
        settings[setting.name] = setting.value;
        if (setting.line > 0) lines[setting.name] = setting.line;
    }
    for (const DiagnosisAction& action : diagnosis.actions) actions.push_back(json_of(action));
    const Json model = {{"name", text_or_none(diagnosis.model_name)},
                        {"id", text_or_none(diagnosis.model_id)},
                        {"guess", text_or_none(diagnosis.model_guess)},
                        {"quant", text_or_none(diagnosis.quant)}};
    return dump({{"schema", "vramfit/diagnosis/1"},
                 {"oom", diagnosis.oom},
                 {"runtime", name_of(diagnosis.runtime)},
                 {"program", text_or_none(diagnosis.program)},
                 {"stage", name_of(diagnosis.stage)},
                 {"time_known", diagnosis.time_known},
                 {"device", text_or_none(diagnosis.device)},
                 {"cause", name_of(diagnosis.cause)},
                 {"summary", diagnosis.summary},
                 {"arithmetic", diagnosis.arithmetic},
                 {"figures", figures},
                 {"settings", settings},
                 {"lines", lines},
                 {"model", model},
                 {"gpu", text_or_none(diagnosis.gpu)},
                 {"actions", actions},
                 {"missing", diagnosis.missing},
                 {"notes", diagnosis.notes}});
}

std::string render_report(const Diagnosis& diagnosis) {
    std::vector<std::string> names = diagnosis.private_names;
    for (const LogLine& shown : diagnosis.evidence) names.push_back(host_of(shown.text));
    const auto clean = [&](std::string_view text) { return printable(redacted(text, names)); };
    const auto line = [&](std::string_view label, const std::string& text) {
        return text.empty() ? "" : pad_right(label, label_width) + text + "\n";
    };
    std::string runtime(name_of(diagnosis.runtime));
    if (!diagnosis.version.empty()) runtime += ", " + clean(diagnosis.version);
    std::string text = line("runtime", runtime) + line("model", clean(diagnosis.model_name)) +
                       line("quant", clean(diagnosis.quant)) + line("GPU", clean(diagnosis.gpu)) +
                       line("device", clean(diagnosis.device)) + line("failed", std::string(what_failed(diagnosis))) +
                       line("cause", std::string(name_of(diagnosis.cause))) +
                       line("in short", clean(diagnosis.summary));
    for (const LogFigure& figure : diagnosis.figures) {
        const std::string value = figure.bytes ? format_exact_mib(figure.value) : std::to_string(figure.value);
        text += line(figure.name, value + (figure.line == 0 ? "" : "  (line " + std::to_string(figure.line) + ")"));
    }
    if (!diagnosis.evidence.empty()) text += "\nLines of the log:\n";
    for (const LogLine& shown : diagnosis.evidence)
        text += std::to_string(shown.number) + ": " + clean(shown.text) + "\n";
    return text;
}

} // namespace vramfit::cli
