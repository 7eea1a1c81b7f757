#include "cli/render_inspect.hpp"

#include "cli/json.hpp"
#include "cli/layout.hpp"
#include "cli/listing.hpp"
#include "cli/weight_table.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/model/architecture.hpp"

namespace vramfit::cli {
namespace {

using Pieces = std::vector<std::string>;

/// What a file calls itself may hold anything; a name of plain characters needs no quotes.
std::string shown_id(const std::string& id) {
    const std::string quoted = quote(id);
    return quoted == "\"" + id + "\"" ? id : quoted;
}

std::string heading(std::string_view text, const Terminal& terminal) {
    return "\n  " + terminal.paint(Color::bold, text) + "\n";
}

std::string head_text(const SourcedModel& loaded, const Inspection& inspection, const Terminal& terminal) {
    const Model& model = loaded.model;
    return terminal.paint(Color::bold, shown_id(model.id)) + "\n" +
           wrapped("  ", "architecture " + model.architecture->name + ", " + parameters_text(model.n_parameters()) +
                             " parameters in " + std::to_string(model.tensors.size()) + " tensors, " +
                             size_text(inspection.tensor_bytes) + " as " + inspection.file_type);
}

std::string shape_text(const Inspection& inspection, const Terminal& terminal) {
    Pieces pieces;
    for (const ShapeFigure& figure : inspection.shape) {
        std::string piece = std::string(figure.name) + " " + std::to_string(figure.least);
        if (figure.least != figure.most) piece += " to " + std::to_string(figure.most);
        pieces.push_back(piece + ",");
    }
    if (pieces.empty()) return "";
    pieces.back().pop_back();
    return heading("shape", terminal) + wrapped("    ", pieces);
}

std::string kind_text(const LayerKind& kind) {
    std::string text;
    for (const std::string& cache : kind.caches) text += (text.empty() ? "" : " + ") + cache;
    if (text.empty()) text = "no cache";
    return text + (kind.experts ? ", experts" : "") + (kind.mtp ? ", MTP block" : "");
}

std::string layers_text(const Inspection& inspection, const Terminal& terminal) {
    std::string text = heading("layers, by the caches that they keep", terminal);
    for (const LayerKind& kind : inspection.layers)
        text += pad_left(std::to_string(kind.layers), 8) + " " + std::string(terminal.times()) + " " + kind_text(kind) +
                "\n";
    return text;
}

/// "110592" and "112.5 KiB" in columns that numbers of every size fit.
std::string cost_line(const CacheCost& cost, bool windows, bool trained) {
    std::string line = "    " + pad_right(traits(cost.type).name, 8);
    if (cost.refusal) return wrapped(line, "refused: " + *cost.refusal);
    line += pad_left(std::to_string(cost.bytes_per_token), 12);
    if (windows) line += pad_left(size_text(cost.window_bytes), 14);
    if (trained) line += pad_left(size_text(cost.trained_bytes), 18);
    return line + "\n";
}

std::string caches_text(const Model& model, const Inspection& inspection, const Terminal& terminal) {
    bool windows = false;
    bool tokens = false;
    for (const CacheCost& cost : inspection.caches) {
        windows = windows || cost.window_bytes > 0;
        tokens = tokens || cost.bytes_per_token > 0;
    }
    const bool trained = model.n_ctx_train() > 0;
    std::string text;
    if (windows || tokens) {
        text += heading("cache of one slot, K and V alike", terminal);
        text += "    type    " + pad_left("bytes/token", 12) + (windows ? pad_left("windows", 14) : "") +
                (trained ? pad_left("at " + std::to_string(model.n_ctx_train()), 18) : "") + "\n";
        for (const CacheCost& cost : inspection.caches) text += cost_line(cost, windows, trained);
        if (windows)
            text += wrapped("    ", "windows: the layers with a sliding window, whatever the context (--ubatch-size " +
                                        std::to_string(inspection.n_ubatch) + ")");
    }
    if (inspection.state_bytes > 0)
        text +=
            heading("state", terminal) + "    " + size_text(inspection.state_bytes) + " a slot, whatever the context\n";
    return text;
}

std::string notes_text(const SourcedModel& loaded, const Terminal& terminal) {
    Pieces notes = loaded.notes;
    if (loaded.n_ctx)
        notes.push_back("its own settings ask for a context of " + std::to_string(*loaded.n_ctx) + " tokens");
    if (loaded.projector) notes.push_back("a projector belongs to it");
    if (!loaded.adapters.empty()) notes.push_back("LoRA adapters belong to it");
    std::string text = notes.empty() ? "" : heading("notes", terminal);
    for (const std::string& note : notes) text += wrapped("    ", note);
    return text;
}

Json json_of(const WeightGroup& group) {
    Json types = Json::array();
    for (const WeightType& type : group.types)
        types.push_back({{"type", traits(type.type).name}, {"tensors", type.tensors}, {"bytes", type.bytes}});
    return {{"group", group.name},
            {"tensors", group.tensors},
            {"parameters", group.parameters},
            {"bytes", group.bytes},
            {"types", std::move(types)}};
}

Json json_of(const CacheCost& cost) {
    return {{"type", traits(cost.type).name},
            {"bytes_per_token", cost.bytes_per_token},
            {"window_bytes", cost.window_bytes},
            {"trained_bytes", cost.trained_bytes},
            {"refusal", cost.refusal ? Json(*cost.refusal) : Json(nullptr)}};
}

Json json_of(const LayerKind& kind) {
    return {{"layers", kind.layers}, {"caches", kind.caches}, {"experts", kind.experts}, {"mtp", kind.mtp}};
}

Json json_of(const ShapeFigure& figure) {
    return {{"name", figure.name}, {"least", figure.least}, {"most", figure.most}};
}

template <typename T>
Json list_of(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(json_of(value));
    return list;
}

} // namespace

std::string render_inspect_text(const SourcedModel& loaded, const Inspection& inspection, const Terminal& terminal) {
    return head_text(loaded, inspection, terminal) + shape_text(inspection, terminal) +
           layers_text(inspection, terminal) + heading("weights, " + inspection.file_type, terminal) +
           weight_table(inspection.weights) + caches_text(loaded.model, inspection, terminal) +
           notes_text(loaded, terminal);
}

std::string render_inspect_json(const SourcedModel& loaded, const Inspection& inspection) {
    const Model& model = loaded.model;
    return dump({{"schema", "vramfit/inspect/1"},
                 {"model",
                  {{"id", model.id},
                   {"source", model.source},
                   {"architecture", model.architecture->name},
                   {"file_type", inspection.file_type},
                   {"parameters", model.n_parameters()},
                   {"tensors", model.tensors.size()},
                   {"tensor_bytes", inspection.tensor_bytes},
                   {"n_ctx", loaded.n_ctx ? Json(*loaded.n_ctx) : Json(nullptr)},
                   {"projector", loaded.projector ? Json(*loaded.projector) : Json(nullptr)},
                   {"adapters", loaded.adapters}}},
                 {"shape", list_of(inspection.shape)},
                 {"layers", list_of(inspection.layers)},
                 {"weights", list_of(inspection.weights)},
                 {"caches", list_of(inspection.caches)},
                 {"state_bytes", inspection.state_bytes},
                 {"n_ubatch", inspection.n_ubatch},
                 {"notes", loaded.notes}});
}

} // namespace vramfit::cli
