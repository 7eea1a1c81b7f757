#include "cli/bars.hpp"
#include "cli/layout.hpp"
#include "cli/render.hpp"
#include "cli/wording.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace vramfit::cli {
namespace {

constexpr std::size_t most_suggestions = 3;
constexpr std::size_t most_charts = 2;                   // devices that are shown part by part
constexpr std::uint64_t stacked_width = 64, eighths = 8; // of a character
constexpr std::size_t widest_name = 60;                  // of a model or GPU; longer ones are cut
constexpr std::size_t widest_note = 24;                  // of a name beside a bar
constexpr std::size_t widest_lead = 40;                  // what may stand before the figures of a verdict in their line

/// "FIT", "TIGHT", "OOM", "REFUSED", in its colour.
std::string word_of(Verdict verdict, const Terminal& terminal) {
    std::string word(name_of(verdict));
    std::transform(word.begin(), word.end(), word.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    return terminal.paint(color_of(verdict), word);
}

std::string names_of(const std::vector<DeviceAnswer>& devices) {
    std::vector<std::string> names;
    names.reserve(devices.size());
    for (const DeviceAnswer& device : devices) names.push_back(device.name);
    return device_list(names);
}

std::string cache_types_of(const EffectiveSettings& settings) {
    return settings.cache_dtype.empty() ? cache_types_text(settings.type_k, settings.type_v) : settings.cache_dtype;
}

bool has_cache(const Answer& answer) {
    return answer.host.kv_cache > 0 || std::any_of(answer.devices.begin(), answer.devices.end(),
                                                   [](const auto& device) { return device.memory.kv_cache > 0; });
}

/// What was asked, as it was understood.
std::string header(const Answer& answer) {
    const EffectiveSettings& settings = answer.settings;
    std::string asked = settings.quant + "  ctx " + std::to_string(settings.n_ctx);
    if (settings.n_ctx_per_seq != settings.n_ctx) {
        asked += " (" + std::to_string(settings.parallel) + " x " + std::to_string(settings.n_ctx_per_seq) + ")";
    }
    if (has_cache(answer)) asked += "  KV " + cache_types_of(settings);
    std::string left = shortened(answer.model.id, widest_name);
    left += (display_width(left) + 2 + display_width(asked) > screen_width ? "\n  " : "  ") + asked;
    const std::string right = names_of(answer.devices) + ", " + settings.runtime;
    if (display_width(right) > screen_width) return left + "\n" + wrapped("  ", right); // many different GPUs
    return edges(left, right);
}

/// Why a fit is tight.
std::string tight_reason(const DeviceAnswer& device, std::uint64_t margin) {
    if (device.wanted > margin) return ": the estimate may be off by " + size_text(device.error);
    return ": less than the margin of " + size_text(margin);
}

/// The words of a text, each unit together with its number: "of", "4.0 GiB,".
std::vector<std::string> with_units(std::string_view text) {
    std::vector<std::string> pieces;
    for (std::string& word : words_of(text)) {
        const bool is_unit = !pieces.empty() && word.substr(0, 3).ends_with("iB");
        if (is_unit)
            pieces.back().append(" ").append(word);
        else
            pieces.push_back(std::move(word));
    }
    return pieces;
}

/// `lead` and the verdict on the device behind it, or below it where the lead is long.
std::string verdict_line(std::string lead, const DeviceAnswer& device, std::uint64_t margin, const Terminal& terminal) {
    std::string figures = part_of_text(device.required, device.available) + ", " +
                          size_text(magnitude(device.headroom)) + (device.headroom < 0 ? " too much" : " free");
    if (device.verdict == Verdict::tight) figures += tight_reason(device, margin);
    const std::string word = word_of(device.verdict, terminal) + "   ";
    if (display_width(lead) + display_width(word) <= widest_lead) return wrapped(lead + word, with_units(figures));
    lead.erase(lead.find_last_not_of(' ') + 1);
    return lead + "\n" + wrapped("    " + word, with_units(figures));
}

/// "1.2 of 64.0 GiB, 62.8 GiB free".
std::string ram_figures(const Answer& answer) {
    const HostAnswer& ram = *answer.ram;
    std::string figures = part_of_text(ram.required, ram.total) + ", " + size_text(magnitude(ram.headroom)) +
                          (ram.headroom < 0 ? " too much" : " free");
    if (ram.verdict == Verdict::tight) figures += ": less than the margin of " + size_text(answer.margin);
    return figures;
}

/// The computer's memory decides: no device is as bad.
bool ram_is_worst(const Answer& answer) {
    return answer.ram && std::none_of(answer.devices.begin(), answer.devices.end(), [&](const DeviceAnswer& device) {
               return device.verdict >= answer.ram->verdict;
           });
}

/// "RAM   FIT   1.2 of 64.0 GiB, 62.8 GiB free", where it is known how much there is.
std::string ram_line(const Answer& answer, const Terminal& terminal) {
    if (!answer.ram) return "";
    return wrapped("  RAM   " + word_of(answer.ram->verdict, terminal) + "   ", with_units(ram_figures(answer)));
}

std::string usable_line(const DeviceAnswer& device) {
    if (device.available == device.total) return "";
    std::string line = part_of_text(device.available, device.total) + " can be used";
    if (device.reserve > 0) line += ", " + size_text(device.reserve) + " are kept in reserve";
    return wrapped("  ", line);
}

/// "typical, 0.6 to 1.0 GiB".
std::string overhead_note(const DeviceAnswer& device) {
    if (device.overhead_low == device.overhead_high) return "typical";
    std::string low = size_text(device.overhead_low);
    const std::string high = size_text(device.overhead_high);
    const std::string_view unit = std::string_view(high).substr(high.find(' '));
    if (low.ends_with(unit)) low.resize(low.size() - unit.size());
    return "typical, " + low + " to " + high;
}

std::string per_token_note(const Answer& answer) {
    const bool whole = answer.devices.size() == 1 && answer.host.kv_cache == 0 && answer.kv_bytes_per_token > 0;
    return whole ? format_bytes(answer.kv_bytes_per_token) + "/token" : "";
}

std::string compute_note(const Answer& answer) {
    if (answer.compute_basis == Basis::exact) return "";
    return answer.compute_error > 0 ? "modelled, +" + size_text(answer.compute_error) + " at most" : "modelled";
}

std::string weights_note(const Answer& answer) {
    return answer.estimate.weights_basis == Basis::exact ? "" : "modelled";
}

std::string projector_note(const Answer& answer) {
    if (!answer.projector) return "";
    return "modelled, +" + size_text(answer.projector->error) + " at most";
}

std::string draft_note(const Answer& answer) {
    if (!answer.draft) return "";
    return answer.draft->mtp ? "context of the MTP block"
                             : shortened(answer.draft->model, widest_note) + " " + answer.draft->quant;
}

std::string chart(const Answer& answer, const DeviceAnswer& device, const Terminal& terminal) {
    const DeviceMemory& memory = device.memory;
    std::vector<BarRow> rows{{"weights", memory.weights, weights_note(answer)}};
    if (memory.kv_cache > 0) rows.push_back({"KV cache", memory.kv_cache, per_token_note(answer)});
    if (memory.recurrent_state > 0) rows.push_back({"state", memory.recurrent_state, "recurrent layers"});
    rows.push_back({"compute", memory.compute, compute_note(answer)});
    if (memory.adapters > 0) rows.push_back({"adapters", memory.adapters, "LoRA"});
    if (memory.projector > 0) rows.push_back({"projector", memory.projector, projector_note(answer)});
    if (memory.draft > 0) rows.push_back({"draft", memory.draft, draft_note(answer)});
    if (device.overhead > 0) rows.push_back({"overhead", device.overhead, overhead_note(device)});
    const char* rest = device.headroom < 0 ? "missing" : answer.serving ? "more" : "free";
    rows.push_back(
        {rest, magnitude(device.headroom), answer.serving && device.headroom > 0 ? "for the cache" : "", true});
    return bar_chart(rows, std::max(device.available, device.required), terminal);
}

std::string one_device(const Answer& answer, const Terminal& terminal) {
    const DeviceAnswer& device = answer.devices.front();
    return verdict_line("  ", device, answer.margin, terminal) + usable_line(device) + "\n" +
           chart(answer, device, terminal);
}

/// The verdict on all devices: "OOM   on 1 of 2 GPUs".
std::string summary_line(const Answer& answer, const Terminal& terminal) {
    const auto worst = std::count_if(answer.devices.begin(), answer.devices.end(),
                                     [&](const DeviceAnswer& device) { return device.verdict == answer.verdict; });
    const auto all = static_cast<std::ptrdiff_t>(answer.devices.size());
    std::string where = std::to_string(worst) + " of " + std::to_string(all);
    if (worst == 0) return ""; // the computer's memory is worse
    if (worst == all) where = all == 2 ? "both" : "all " + std::to_string(all);
    return "  " + word_of(answer.verdict, terminal) + "   on " + where + " GPUs\n";
}

/// One bar for all that lies on a device, and below it what that is.
std::string stacked(const DeviceAnswer& device, const Terminal& terminal) {
    const std::uint64_t full = std::max({device.available, device.required, std::uint64_t{1}});
    const std::uint64_t used = std::min(device.available, device.required);
    const double share = static_cast<double>(used) / static_cast<double>(full);
    const auto length = static_cast<std::uint64_t>(share * stacked_width);
    const std::uint64_t rest = stacked_width - length;
    std::string text = "    " + terminal.bar(length * eighths) +
                       (rest == 0 ? "" : terminal.paint(Color::dim, terminal.light_bar(rest * eighths))) + "\n";
    std::string parts;
    const DeviceMemory& memory = device.memory;
    for (const auto& [name, bytes] :
         std::initializer_list<std::pair<const char*, std::uint64_t>>{{"weights", memory.weights},
                                                                      {"KV cache", memory.kv_cache},
                                                                      {"state", memory.recurrent_state},
                                                                      {"compute", memory.compute},
                                                                      {"adapters", memory.adapters},
                                                                      {"projector", memory.projector},
                                                                      {"draft", memory.draft},
                                                                      {"overhead", device.overhead}}) {
        if (bytes > 0) parts += (parts.empty() ? "" : ", ") + std::string(name) + " " + size_text(bytes);
    }
    return text + (parts.empty() ? "" : wrapped("    ", with_units(parts)));
}

/// Up to two devices are shown part by part, more of them with one bar each.
std::string several_devices(const Answer& answer, const Terminal& terminal) {
    std::string text = summary_line(answer, terminal);
    const bool many = answer.devices.size() > most_charts;
    for (std::size_t i = 0; i < answer.devices.size(); ++i) {
        const DeviceAnswer& device = answer.devices[i];
        const std::string lead = "  GPU " + std::to_string(i) + ": " + shortened(device.name, widest_name) + "   ";
        text += "\n" + verdict_line(lead, device, answer.margin, terminal) + usable_line(device) +
                (many ? stacked(device, terminal) : "\n" + chart(answer, device, terminal));
    }
    return text;
}

/// "in RAM 0.6 GiB: weights 0.3 GiB, compute 0.3 GiB".
std::string host_line(const Answer& answer, const Terminal& terminal) {
    const HostMemory& host = answer.host;
    if (host.total() == 0) return "";
    std::string parts;
    const auto add = [&](std::string_view name, std::uint64_t bytes) {
        if (bytes == 0) return;
        parts += (parts.empty() ? "" : ", ") + std::string(name) + " " + size_text(bytes);
    };
    add("weights", host.weights);
    add("KV cache", host.kv_cache);
    add("state", host.recurrent_state);
    add("compute", host.compute);
    add("output", host.output);
    add("adapters", host.adapters);
    add("projector", host.projector);
    add("draft", host.draft);
    return "\n" + (ram_is_worst(answer) ? "" : ram_line(answer, terminal)) +
           wrapped("  " + pad_right("in RAM", 9) + pad_left(size_text(host.total()), 9) + "  ", with_units(parts));
}

/// The first three digits: "104000".
std::string rounded(std::uint64_t n) {
    std::uint64_t unit = 1;
    while (n / unit >= 1000) unit *= 10;
    return std::to_string((n + unit / 2) / unit * unit);
}

std::string limit_text(const MaxContext& context) {
    if (context.limited_by == ContextLimit::model) return " (all the model was trained for)";
    if (context.limited_by == ContextLimit::setting) return " (the settings allow no more)";
    return context.tight > context.fit ? " (tight up to " + std::to_string(context.tight) + ")" : "";
}

std::string largest_context(const Answer& answer) {
    const MaxContext& context = answer.max_ctx;
    if (context.tight == 0) return wrapped("  largest context: ", "none fits");
    if (context.fit == 0) return wrapped("  largest context: ", std::to_string(context.tight) + ", and that is tight");
    return wrapped("  largest context: ", std::to_string(context.fit) + limit_text(context));
}

/// What the caches of a server hold, rounded to what is known of it.
std::string serving_text(const Answer& answer) {
    if (!answer.serving || answer.serving->max_concurrency <= 0) return "";
    std::string text;
    if (answer.serving->kv_cache_tokens > 0) text = rounded(answer.serving->kv_cache_tokens) + " tokens, ";
    const auto tenths = static_cast<std::uint64_t>(std::lround(answer.serving->max_concurrency * 10));
    return wrapped("  cache holds about: ", text + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                                                " requests of " + std::to_string(answer.settings.n_ctx) + " at once");
}

std::string failure_text(const Answer& answer) {
    if (!answer.failure) return "";
    const Failure& failure = *answer.failure;
    std::string when = "when it loads the model";
    if (failure.when == "context") when = "when it creates the context";
    if (failure.when == "generation") when = "while it generates";
    if (failure.at_tokens) when += ", at about " + std::to_string(*failure.at_tokens) + " tokens";
    return "\n" + wrapped("  ", answer.settings.runtime + " will say, " + when + ":") +
           wrapped("    ", failure.message);
}

/// "  -4.3 GiB  ": what is saved where it is short.
std::string saved_text(const Suggestion& suggestion) {
    constexpr std::size_t width = 10;
    return pad_left(suggestion.saved > 0 ? "-" + size_text(suggestion.saved) : "", width) + "  ";
}

std::string suggestions_text(const Answer& answer, const Terminal& terminal) {
    if (answer.suggestions.empty()) return "";
    const std::size_t n_shown = std::min(answer.suggestions.size(), most_suggestions);
    const std::span shown(answer.suggestions.data(), n_shown);
    const bool any_saved = std::any_of(shown.begin(), shown.end(), [](const Suggestion& s) { return s.saved > 0; });
    std::string text = "\n  what helps:\n";
    for (const Suggestion& suggestion : shown) {
        std::vector<std::string> pieces = words_of(suggestion.summary + (suggestion.flags.empty() ? "" : ":"));
        for (const std::string& flag : with_values(suggestion.flags)) pieces.push_back(printable(flag));
        text += wrapped("    " + pad_right(word_of(suggestion.verdict, terminal), 7) +
                            (any_saved ? saved_text(suggestion) : ""),
                        pieces);
    }
    return text;
}

std::string run_line(const std::string& command) {
    return wrapped("  run: ", with_values(words_of(printable(command))), " \\");
}

/// The first change that gives a fit; where none does, the first.
const Suggestion& best_of(const std::vector<Suggestion>& suggestions) {
    const auto fits = std::ranges::find(suggestions, Verdict::fit, &Suggestion::verdict);
    return fits == suggestions.end() ? suggestions.front() : *fits;
}

/// The command to run: of the question, or of the first change that makes it fit.
std::string command_line(const Answer& answer) {
    const bool runs = answer.verdict == Verdict::fit || answer.verdict == Verdict::tight;
    const bool close = answer.verdict == Verdict::fit && answer.suggestions.empty(); // to the largest context
    if (runs && !answer.command.empty()) return (close ? "" : "\n") + run_line(answer.command);
    if (runs || answer.suggestions.empty()) return "";
    const std::string& command = best_of(answer.suggestions).command;
    return command.empty() ? "" : "\n" + run_line(command);
}

std::string notes_text(const Answer& answer) {
    std::string text;
    for (const std::string& note : answer.notes) text += wrapped("  note: ", note);
    return text.empty() ? "" : "\n" + text;
}

} // namespace

std::string render_text(const Answer& answer, const Terminal& terminal) {
    std::string text = header(answer) + "\n";
    if (answer.verdict == Verdict::refused) {
        text += "  " + word_of(answer.verdict, terminal) + "   " + answer.settings.runtime +
                " does not start with these settings\n";
    } else {
        if (ram_is_worst(answer)) text += ram_line(answer, terminal) + "\n";
        text += answer.devices.size() == 1 ? one_device(answer, terminal) : several_devices(answer, terminal);
        text += host_line(answer, terminal) + "\n" + largest_context(answer) + serving_text(answer);
    }
    text += failure_text(answer) + suggestions_text(answer, terminal) + command_line(answer);
    return text + notes_text(answer);
}

} // namespace vramfit::cli
