#include "cli/render_check.hpp"

#include "cli/json.hpp"
#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "cli/text_table.hpp"
#include "vramfit/base/quote.hpp"

#include <algorithm>

namespace vramfit::cli {
namespace {

constexpr std::size_t widest_where = 28;
constexpr std::size_t widest_model = 20;

std::string where_of(const CheckedDeployment& row) { return row.file + ":" + std::to_string(row.line); }

/// The end of a name is what tells it from others.
std::string last_of(const std::string& text, std::size_t width) {
    return text.size() <= width ? text : ".." + text.substr(text.size() - width + 2);
}

/// The device that is worst off.
const DeviceAnswer* worst(const Answer& answer) {
    const auto found = std::ranges::min_element(answer.devices, {}, &DeviceAnswer::headroom);
    return found == answer.devices.end() ? nullptr : &*found;
}

std::string verdict_of(const CheckedDeployment& row) {
    if (row.no_model) return "none";
    return row.answer ? std::string(name_of(row.answer->verdict)) : "error";
}

std::string gpus_of(const Answer& answer) {
    if (answer.devices.empty()) return "";
    const std::string& first = answer.devices.front().name;
    return answer.devices.size() == 1 ? first : std::to_string(answer.devices.size()) + "x" + first;
}

TextRow text_row(const CheckedDeployment& row) {
    TextRow result;
    std::string below;
    const auto add = [&](const std::string& text) { below += (below.empty() ? "" : "; ") + text; };
    if (!row.answer) {
        result.cells = {last_of(where_of(row), widest_where), "", "", "", "", verdict_of(row)};
        if (!row.error.empty()) add(row.error);
    } else {
        const Answer& answer = *row.answer;
        const DeviceAnswer* const device = worst(answer);
        const std::string memory = answer.verdict == Verdict::refused || device == nullptr
                                       ? ""
                                       : part_of_text(device->required, device->available);
        result.cells = {last_of(where_of(row), widest_where),
                        shortened(answer.model.id, widest_model),
                        answer.settings.quant,
                        std::to_string(answer.settings.n_ctx),
                        memory,
                        verdict_of(row)};
        if (answer.verdict == Verdict::refused && answer.failure) add(answer.failure->message);
        if (answer.verdict != Verdict::fit && answer.verdict != Verdict::refused && !answer.suggestions.empty())
            add("helps: " + answer.suggestions.front().summary);
    }
    for (const auto* const notes : {&row.request.notes, &row.notes})
        for (const std::string& note : *notes) add(note);
    result.below = (row.name.empty() ? "" : row.name + ": ") + below;
    if (below.empty()) result.below = row.name;
    result.below = printable(result.below);
    for (std::string& cell : result.cells) cell = printable(cell);
    return result;
}

/// What a property or the message of a workflow command may hold (actions/toolkit, command.ts).
std::string escaped(std::string_view text, bool property) {
    std::string result;
    for (const char c : text) {
        if (c == '%')
            result += "%25";
        else if (c == '\r')
            result += "%0D";
        else if (c == '\n')
            result += "%0A";
        else if (property && c == ':')
            result += "%3A";
        else if (property && c == ',')
            result += "%2C";
        else
            result += c;
    }
    return result;
}

std::string message_of(const CheckedDeployment& row) {
    if (!row.answer) return row.no_model ? row.notes.back() : row.error;
    const Answer& answer = *row.answer;
    std::string text = answer.model.id + " " + answer.settings.quant + ", context " +
                       std::to_string(answer.settings.n_ctx) + " on " + gpus_of(answer) + ": " + verdict_of(row);
    if (answer.verdict == Verdict::refused) return answer.failure ? text + ", " + answer.failure->message : text;
    if (const DeviceAnswer* const device = worst(answer))
        text += ", " + part_of_text(device->required, device->available);
    if (answer.verdict != Verdict::fit && !answer.suggestions.empty())
        text += "; helps: " + answer.suggestions.front().summary;
    return text;
}

Json json_of(const CheckedDeployment& row) {
    Json json{{"file", row.file}, {"line", row.line}, {"name", text_or_null(row.name)}, {"verdict", verdict_of(row)}};
    std::vector<std::string> notes = row.notes;
    if (!row.answer) {
        json["error"] = text_or_null(row.error);
        notes.insert(notes.end(), row.request.notes.begin(), row.request.notes.end());
        json["notes"] = notes;
        return json;
    }
    const Answer& answer = *row.answer;
    json["error"] = nullptr;
    json["model"] = answer.model.id;
    json["runtime"] = answer.settings.runtime;
    json["quant"] = answer.settings.quant;
    json["n_ctx"] = answer.settings.n_ctx;
    json["devices"] = Json::array();
    for (const DeviceAnswer& device : answer.devices)
        json["devices"].push_back({{"name", device.name},
                                   {"available", device.available},
                                   {"required", device.required},
                                   {"headroom", device.headroom},
                                   {"verdict", name_of(device.verdict)}});
    json["max_ctx"] = answer.max_ctx.fit;
    json["failure"] = answer.failure ? Json(answer.failure->message) : Json(nullptr);
    json["suggestion"] = answer.suggestions.empty() ? Json(nullptr) : Json(answer.suggestions.front().summary);
    notes.insert(notes.end(), answer.notes.begin(), answer.notes.end());
    json["notes"] = notes;
    return json;
}

} // namespace

std::string render_check_text(const std::vector<CheckedDeployment>& rows, const Terminal& terminal) {
    const std::vector<TextColumn> columns{{"where"},         {"model"},       {"quant"},
                                          {"context", true}, {"needs", true}, {"verdict"}};
    std::vector<TextRow> lines;
    lines.reserve(rows.size());
    for (const CheckedDeployment& row : rows) lines.push_back(text_row(row));
    return text_table(columns, lines, terminal);
}

std::string render_check_json(const std::vector<CheckedDeployment>& rows) {
    Json list = Json::array();
    for (const CheckedDeployment& row : rows) list.push_back(json_of(row));
    return dump({{"schema", "vramfit/check/1"}, {"deployments", std::move(list)}});
}

std::string render_check_github(const std::vector<CheckedDeployment>& rows, bool strict) {
    std::string text;
    for (const CheckedDeployment& row : rows) {
        std::string_view kind = "error";
        if (row.no_model || (row.answer && row.answer->verdict == Verdict::fit)) kind = "notice";
        if (row.answer && row.answer->verdict == Verdict::tight && !strict) kind = "warning";
        text += "::" + std::string(kind) + " file=" + escaped(row.file, true) + ",line=" + std::to_string(row.line) +
                "::" + escaped((row.name.empty() ? "" : row.name + ": ") + message_of(row), false) + "\n";
    }
    return text;
}

} // namespace vramfit::cli
