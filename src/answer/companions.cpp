#include "companions.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/memory/adapter.hpp"
#include "vramfit/memory/draft.hpp"
#include "vramfit/model/source.hpp"

#include <algorithm>
#include <filesystem>

namespace vramfit {
namespace {

constexpr std::uint64_t most_vocabulary_difference = 128; // common/speculative.cpp

std::uint64_t added(std::uint64_t a, std::uint64_t b) { return checked_add(a, b, "what is loaded beside the model"); }

ModelSources sources_of(const Request& request) {
    ModelSources sources;
    sources.catalogs = request.catalogs;
    if (!request.use_environment) sources.environment = empty_environment();
    return sources;
}

/// The vocabulary is what the token embedding has rows for.
std::uint64_t n_vocab_of(const Model& model) {
    const auto embedding = std::ranges::find_if(
        model.tensors, [&](const Tensor& tensor) { return model.name_of(tensor) == "token_embd.weight"; });
    return embedding == model.tensors.end() ? 0 : embedding->ne[1];
}

void add_components(DraftAnswer& answer, const DeviceMemory& memory) {
    answer.weights = added(answer.weights, memory.weights);
    answer.kv_cache = added(answer.kv_cache, memory.kv_cache);
    answer.recurrent_state = added(answer.recurrent_state, memory.recurrent_state);
    answer.compute = added(answer.compute, memory.compute);
}

std::string quant_of(const Model& model, FileType file_type) {
    return model.file_type.empty() ? std::string(traits(file_type).name) : model.file_type;
}

Projector projector_named(const std::string& name, const Model& target, const Request& request) {
    if (name == "auto") {
        if (auto known = known_projector(target.id)) return *known;
        throw Error("no projector of " + target.id + " is known; give its file (mmproj-....gguf)");
    }
    if (names_a_file(name)) return read_projector(read_gguf_file(name));
    const Model model = load_model(name, sources_of(request)).model;
    if (auto known = known_projector(model.id)) return *known;
    throw Error("no projector of " + model.id + " is known; give its file (mmproj-....gguf)");
}

} // namespace

bool names_a_file(const std::string& name) {
    std::error_code error;
    return name.ends_with(".gguf") || name.find('/') != std::string::npos || std::filesystem::exists(name, error);
}

const Projector& Companions::projector(const Request& request) {
    const std::string& name = *request.projector;
    const auto found = projectors_.find(name);
    if (found != projectors_.end()) return found->second;
    return projectors_.emplace(name, projector_named(name, target_.model(), request)).first->second;
}

Estimator& Companions::draft(const Request& request) {
    const std::string& name = request.draft->model;
    const auto found = drafts_.find(name);
    if (found != drafts_.end()) return *found->second;
    auto estimator = std::make_unique<Estimator>(load_model(name, sources_of(request)).model);
    return *drafts_.emplace(name, std::move(estimator)).first->second;
}

/// It lies on the first GPU, wherever the model's layers are (clip.cpp, clip_ctx).
void Companions::add_projector(const Request& request, MemoryEstimate& estimate, CompanionMemory& memory) {
    const Projector& p = projector(request);
    const bool on_device = request.projector_offload && !estimate.devices.empty();
    const FlashAttention flash_attn = request.flash_attn.value_or(FlashAttention::automatic);
    const ProjectorMemory m = projector_memory(p, on_device, flash_attn);
    DeviceMemory& there = on_device ? estimate.devices.front() : estimate.host;
    there.projector = added(there.projector, added(m.weights, m.compute));
    estimate.host.projector = added(estimate.host.projector, m.host_compute);
    if (on_device) memory.errors.front() = added(memory.errors.front(), m.error);
    memory.projector = ProjectorAnswer{p.name,         p.type,  on_device, m.weights,      m.compute,
                                       m.host_compute, m.error, m.largest, p.weights_basis};
}

void Companions::add_draft(const Request& request, const Deployment& deployment, MemoryEstimate& estimate,
                           CompanionMemory& memory) {
    const DraftRequest& asked = *request.draft;
    Estimator& estimator = draft(request);
    const Model& model = estimator.model();
    Deployment d = draft_deployment(deployment, estimate.context, asked.type_k.value_or(TensorType::f16),
                                    asked.type_v.value_or(TensorType::f16));
    d.placement.n_gpu_layers = std::max<std::int64_t>(-1, asked.n_gpu_layers.value_or(-1)); // auto: all
    if (model.file_type.empty()) {
        if (asked.quant)
            d.file_type = parse_file_type(*asked.quant);
        else if (!target_.model().file_type.empty())
            throw Error("no quantization is given for the draft model " + model.id +
                        "; give one with --quant-draft, such as q8_0");
        if (const auto refusal = estimator.quant_refusal(d.file_type, d.imatrix))
            throw Error("the draft model: " + *refusal);
    }
    const MemoryEstimate own = estimator.estimate(d);
    if (own.refusal && !estimate.refusal) estimate.refusal = "the draft model: " + *own.refusal;
    DraftAnswer answer;
    answer.model = model.id;
    answer.quant = quant_of(model, d.file_type);
    for (std::size_t i = 0; i < own.devices.size(); ++i) {
        estimate.devices[i].draft = added(estimate.devices[i].draft, own.devices[i].sum());
        memory.errors[i] = added(memory.errors[i], own.compute_error);
        add_components(answer, own.devices[i]);
    }
    estimate.host.draft = added(estimate.host.draft, own.host.total());
    add_components(answer, own.host);
    answer.output = own.host.output;
    answer.error = own.compute_error;
    answer.kv_basis = own.kv_basis;
    answer.compute_basis = own.compute_basis;
    memory.draft = std::move(answer);

    const std::uint64_t n_target = n_vocab_of(target_.model());
    const std::uint64_t n_draft = n_vocab_of(model);
    if ((n_target > n_draft ? n_target - n_draft : n_draft - n_target) > most_vocabulary_difference)
        memory.notes.push_back(model.id + " cannot draft for " + target_.model().id + ": its vocabulary has " +
                               std::to_string(n_draft) + " tokens, not " + std::to_string(n_target));
}

void Companions::add_mtp(const Deployment& deployment, MemoryEstimate& estimate, CompanionMemory& memory) {
    add_rollback(estimate, rollback_copies(target_.model(), runtime_.draft_tokens));
    const MtpContext m = mtp_context(target_, deployment, estimate, TensorType::f16, TensorType::f16);
    DeviceMemory& there = estimate.at(m.device);
    there.draft = added(there.draft, added(m.kv_cache, m.compute));
    estimate.host.draft = added(estimate.host.draft, added(m.host_compute, m.output));
    if (m.device != host_device) {
        std::uint64_t& error = memory.errors[static_cast<std::size_t>(m.device)];
        error = added(error, m.compute_error);
    }
    DraftAnswer answer;
    answer.model = target_.model().id;
    answer.quant = quant_of(target_.model(), deployment.file_type);
    answer.mtp = true;
    answer.kv_cache = m.kv_cache;
    answer.compute = added(m.compute, m.host_compute);
    answer.output = m.output;
    answer.error = m.compute_error;
    answer.kv_basis = m.kv_basis;
    answer.compute_basis = Basis::modelled;
    memory.draft = std::move(answer);
}

void Companions::add_adapters(const Request& request, const Deployment& deployment, MemoryEstimate& estimate,
                              CompanionMemory& memory) {
    const Model& model = target_.model();
    const Placement placement = place(model, deployment.placement, deployment.settings.mtp);
    std::uint64_t widest = 0;
    for (const std::string& file : request.adapters) {
        const auto header = adapters_.try_emplace(file);
        if (header.second) header.first->second = read_gguf_file(file);
        const LoraAdapter adapter = read_adapter(header.first->second, model);
        AdapterAnswer answer;
        answer.name = file;
        for (const LoraAdapter::Pair& pair : adapter.pairs) {
            const std::int32_t device = requested_device(deployment.placement, placement.tensor_device[pair.tensor]);
            const std::uint64_t bytes = device == host_device ? pair.host_bytes : pair.device_bytes;
            DeviceMemory& there = estimate.at(device);
            there.adapters = added(there.adapters, bytes);
            answer.bytes = added(answer.bytes, bytes);
            answer.n_tensors += 2;
        }
        widest = std::max(widest, adapter.widest());
        memory.adapters.push_back(std::move(answer));
    }
    // The graph with adapters was not measured: the products of the widest pair may find no room in it.
    const std::uint64_t more = checked_mul(checked_mul(widest, estimate.context.n_tokens), sizeof(float), "an adapter");
    estimate.compute_error = added(estimate.compute_error, more);
    estimate.compute_basis = std::max(estimate.compute_basis, Basis::modelled);
}

CompanionMemory Companions::add(const Request& request, const Deployment& deployment, MemoryEstimate& estimate) {
    CompanionMemory memory;
    memory.errors.resize(estimate.devices.size());
    if (estimate.refusal) return memory;
    // The server's speculation; the library knows none.
    if (request.draft)
        add_draft(request, deployment, estimate, memory);
    else if (request.mtp && runtime_.draft_tokens > 0)
        add_mtp(deployment, estimate, memory);
    if (request.projector) add_projector(request, estimate, memory);
    if (!request.adapters.empty()) add_adapters(request, deployment, estimate, memory);
    return memory;
}

} // namespace vramfit
