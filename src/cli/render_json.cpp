#include "cli/json.hpp"
#include "cli/render.hpp"

namespace vramfit::cli {
namespace {

std::string_view name_of(Basis basis) {
    switch (basis) {
    case Basis::exact: return "exact";
    case Basis::modelled: return "modelled";
    case Basis::typical: return "typical";
    }
    return "typical";
}

std::string_view name_of(ContextLimit limit) {
    switch (limit) {
    case ContextLimit::model: return "model";
    case ContextLimit::memory: return "memory";
    case ContextLimit::setting: return "setting";
    }
    return "setting";
}

Json json_of(const ModelSummary& model) {
    return {{"id", model.id},
            {"source", model.source},
            {"architecture", model.architecture},
            {"parameters", model.parameters},
            {"tensor_bytes", model.tensor_bytes},
            {"block_count", model.block_count},
            {"context_length", model.context_length}};
}

Json json_of(const EffectiveSettings& settings) {
    return {{"runtime", settings.runtime},
            {"quant", settings.quant},
            {"n_ctx", settings.n_ctx},
            {"n_ctx_per_seq", settings.n_ctx_per_seq},
            {"parallel", settings.parallel},
            {"kv_unified", settings.kv_unified},
            {"n_batch", settings.n_batch},
            {"n_ubatch", settings.n_ubatch},
            {"cache_type_k", traits(settings.type_k).name},
            {"cache_type_v", traits(settings.type_v).name},
            {"flash_attn", settings.flash_attn},
            {"n_outputs", settings.n_outputs},
            {"gpu_layers", settings.gpu_layers},
            {"n_cpu_moe", settings.n_cpu_moe},
            {"swa_full", settings.swa_full}};
}

Json json_of(const DeviceAnswer& device) {
    return {{"name", device.name},
            {"total", device.total},
            {"available", device.available},
            {"reserve", device.reserve},
            {"weights", device.memory.weights},
            {"kv_cache", device.memory.kv_cache},
            {"recurrent_state", device.memory.recurrent_state},
            {"compute", device.memory.compute},
            {"adapters", device.memory.adapters},
            {"projector", device.memory.projector},
            {"draft", device.memory.draft},
            {"overhead", device.overhead},
            {"required", device.required},
            {"headroom", device.headroom},
            {"verdict", name_of(device.verdict)}};
}

Json host_of(const Answer& answer) {
    const HostMemory& host = answer.host;
    Json json = {
        {"weights", host.weights},
        {"kv_cache", host.kv_cache},
        {"recurrent_state", host.recurrent_state},
        {"compute", host.compute},
        {"output", host.output},
        {"adapters", host.adapters},
        {"projector", host.projector},
        {"draft", host.draft},
        {"required", answer.ram ? answer.ram->required : host.total()},
        {"may_grow", {{"prompt_cache", answer.growth.prompt_cache}, {"checkpoints", answer.growth.checkpoints}}}};
    if (answer.ram) {
        json["total"] = answer.ram->total;
        json["shared"] = answer.ram->shared;
        json["headroom"] = answer.ram->headroom;
        json["verdict"] = name_of(answer.ram->verdict);
    }
    return json;
}

Json json_of(const std::optional<ProjectorAnswer>& projector) {
    if (!projector) return nullptr;
    return {{"name", projector->name},
            {"type", projector->type},
            {"offloaded", projector->on_device},
            {"weights", projector->weights},
            {"compute", projector->compute + projector->host_compute},
            {"basis", {{"weights", name_of(projector->weights_basis)}, {"compute", name_of(Basis::modelled)}}}};
}

Json json_of(const std::optional<DraftAnswer>& draft) {
    if (!draft) return nullptr;
    return {{"model", draft->model},
            {"quant", draft->quant},
            {"mtp", draft->mtp},
            {"weights", draft->weights},
            {"kv_cache", draft->kv_cache},
            {"recurrent_state", draft->recurrent_state},
            {"compute", draft->compute},
            {"output", draft->output},
            {"basis", {{"kv_cache", name_of(draft->kv_basis)}, {"compute", name_of(draft->compute_basis)}}}};
}

Json json_of(const AdapterAnswer& adapter) { return {{"name", adapter.name}, {"bytes", adapter.bytes}}; }

Json totals_of(const Answer& answer) {
    HostMemory sum = answer.host;
    for (const DeviceAnswer& device : answer.devices) {
        sum.weights += device.memory.weights;
        sum.kv_cache += device.memory.kv_cache;
        sum.recurrent_state += device.memory.recurrent_state;
        sum.compute += device.memory.compute;
        sum.adapters += device.memory.adapters;
        sum.projector += device.memory.projector;
        sum.draft += device.memory.draft;
    }
    return {{"weights", sum.weights},
            {"kv_cache", sum.kv_cache},
            {"recurrent_state", sum.recurrent_state},
            {"compute", sum.compute},
            {"output", answer.host.output},
            {"adapters", sum.adapters},
            {"projector", sum.projector},
            {"draft", sum.draft},
            {"overhead", answer.overhead},
            {"kv_bytes_per_token", answer.kv_bytes_per_token}};
}

Json json_of(const std::optional<Failure>& failure) {
    if (!failure) return nullptr;
    const Json at_tokens = failure->at_tokens ? Json(*failure->at_tokens) : Json(nullptr);
    return {{"when", failure->when}, {"at_tokens", at_tokens}, {"message", failure->message}};
}

Json json_of(const Suggestion& suggestion) {
    Json set = Json::object();
    for (const auto& [name, value] : suggestion.set) {
        std::visit([&, &key = name](const auto& held) { set[key] = held; }, value);
    }
    return {{"kind", suggestion.kind},
            {"summary", suggestion.summary},
            {"set", set},
            {"verdict", name_of(suggestion.verdict)},
            {"saved", suggestion.saved},
            {"flags", suggestion.flags},
            {"command", suggestion.command}};
}

template <typename T>
Json list_of(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(json_of(value));
    return list;
}

} // namespace

std::string render_json(const Answer& answer) {
    const Json basis = {{"weights", name_of(answer.estimate.weights_basis)},
                        {"kv_cache", name_of(answer.estimate.kv_basis)},
                        {"compute", name_of(answer.compute_basis)},
                        {"overhead", name_of(Basis::typical)}};
    const Json max_ctx = {{"fit", answer.max_ctx.fit},
                          {"tight", answer.max_ctx.tight},
                          {"limited_by", name_of(answer.max_ctx.limited_by)}};
    return dump({{"schema", "vramfit/estimate/1"},
                 {"verdict", name_of(answer.verdict)},
                 {"model", json_of(answer.model)},
                 {"settings", json_of(answer.settings)},
                 {"devices", list_of(answer.devices)},
                 {"host", host_of(answer)},
                 {"projector", json_of(answer.projector)},
                 {"draft", json_of(answer.draft)},
                 {"adapters", list_of(answer.adapters)},
                 {"totals", totals_of(answer)},
                 {"basis", basis},
                 {"max_ctx", max_ctx},
                 {"failure", json_of(answer.failure)},
                 {"suggestions", list_of(answer.suggestions)},
                 {"notes", answer.notes}});
}

} // namespace vramfit::cli
