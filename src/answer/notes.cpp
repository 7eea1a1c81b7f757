#include "notes.hpp"

#include "companion_notes.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"
#include "vramfit/hardware/overhead.hpp"
#include "vramfit/memory/settings.hpp"

#include <algorithm>

namespace vramfit {
namespace {

using Notes = std::vector<std::string>;

std::string number(std::uint64_t n) { return std::to_string(n); }

/// Nothing but recurrent state: to such a model a position is nothing, and no text is too long.
bool is_recurrent(const MemoryEstimate& estimate) {
    return !estimate.caches.empty() &&
           std::ranges::all_of(estimate.caches, [](const Cache& c) { return c.recurrent || c.layers.empty(); });
}

void note_default_context(Notes& notes, const Judge& judge, const Request& request) {
    const RuntimeProfile& runtime = judge.runtime();
    std::string text =
        "no context was given: " + number(*request.n_ctx) + " is what " + runtime.name + " takes by itself";
    if (runtime.default_ctx.size() > 1) text += " with " + format_bytes(judge.gpu_memory()) + " of GPU memory";
    notes.push_back(text);
}

void note_context(Notes& notes, const Judge& judge, const Request& request, const Trial& trial, ContextSource source) {
    const ContextPlan& context = trial.estimate.context;
    if (source == ContextSource::by_default) note_default_context(notes, judge, request);
    if (source == ContextSource::largest) {
        switch (trial.verdict) {
        case Verdict::fit: notes.push_back("no context was given: this is the largest that fits"); break;
        case Verdict::tight:
            if (judge.runtime().reserve == RuntimeProfile::Reserve::share) {
                notes.push_back("the context is as many tokens as the cache holds");
                break;
            }
            notes.push_back(
                "no context was given: none fits with room to spare, this is the largest that fits tightly");
            break;
        case Verdict::oom:
            notes.push_back("no context was given: not even 256 tokens fit, the figures are for " +
                            number(context.n_ctx));
            break;
        case Verdict::refused:
            notes.push_back("no context was given: the figures are for " + number(context.n_ctx));
            break;
        }
    }
    const std::uint64_t trained = judge.model().n_ctx_train();
    if (judge.runtime().caps_ctx && trained > 0 && request.n_ctx.value_or(0) > trained)
        notes.push_back(judge.runtime().name + " cuts the context to the " + number(trained) +
                        " that the model was trained for");
    if (trained == 0 || context.n_ctx_seq <= pad(trained + judge.runtime().ctx_extra, n_cells_pad) ||
        is_recurrent(trial.estimate))
        return;
    // An encoder has learned a vector for each position.
    const bool encoder = judge.model().hparams.get("attention.causal", 1) == 0;
    notes.push_back("a context of " + number(context.n_ctx_seq) + " is more than the " + number(trained) +
                    " that the model was trained for: " +
                    (encoder ? "it has no positions beyond it" : "quality suffers beyond it"));
}

void note_rounding(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    const ContextPlan& context = trial.estimate.context;
    const std::uint64_t asked = request.n_ctx.value_or(0);
    const bool as_said = !judge.runtime().ctx_per_slot && judge.runtime().ctx_extra == 0 && context.n_stream == 1;
    if (as_said && asked > 0 && context.n_ctx > asked)
        notes.push_back(judge.runtime().name + " rounds the context up to " + number(context.n_ctx) +
                        ", a multiple of " + number(n_cells_pad));
}

/// llama-server answers requests for embeddings where it is told to, and reads each text in one physical batch.
void note_embeddings(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    if (request.embeddings || !judge.runtime().can_set("embeddings") || !makes_embeddings(judge.model())) return;
    notes.push_back("to serve embeddings add --embeddings, here and there; a text longer than the physical batch of " +
                    number(trial.estimate.context.n_ubatch) + " tokens needs a larger -ub");
}

void note_slots(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    const ContextPlan& context = trial.estimate.context;
    if (request.parallel.value_or(1) > 1 && has_single_slot(request, judge.runtime(), judge.model()))
        notes.push_back(judge.runtime().name + " gives this model one slot, whatever is asked");
    if (context.n_seqs < 2) return;
    if (judge.runtime().ctx_per_slot)
        notes.push_back(judge.runtime().name + " gives each of the " + number(context.n_seqs) + " slots a cache of " +
                        number(context.n_ctx_seq) + " tokens");
    else if (context.n_stream > 1)
        notes.push_back(number(context.n_seqs) + " slots divide the context: " + number(context.n_ctx_seq) +
                        " tokens each");
    else if (request.parallel || request.kv_unified)
        notes.push_back(number(context.n_seqs) + " slots share one cache of " + number(context.n_ctx) + " tokens");
}

/// The runtime caches the whole context where a window would do.
void note_windows(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    if (request.swa_full || !judge.runtime().swa_full) return;
    const bool windows = judge.model().hparams.get("attention.sliding_window", 0) > 0;
    if (!windows || trial.estimate.refusal) return;
    const auto hint = judge.runtime().hints.find("swa_full");
    notes.push_back(judge.runtime().name + " caches the whole context in sliding-window layers, too" +
                    (hint == judge.runtime().hints.end() ? "" : "; " + hint->second));
}

void note_weights(Notes& notes, Judge& judge, const Trial& trial) {
    if (!judge.model().file_type.empty()) return;
    const FileType type = trial.deployment.file_type;
    if (trial.deployment.imatrix && judge.estimator().quant_refusal(type, false))
        notes.push_back(std::string(traits(type).name) + " files of this model need an importance matrix to be made");
}

void note_attention(Notes& notes, const Trial& trial) {
    const Settings& s = trial.deployment.settings;
    if (trial.estimate.refusal || trial.estimate.flash_attn || s.flash_attn != FlashAttention::automatic) return;
    const bool caches =
        std::ranges::any_of(trial.estimate.caches, [](const Cache& c) { return !c.recurrent && !c.layers.empty(); });
    if (caches)
        notes.push_back("flash attention is off: there is no CUDA kernel for this model with these cache types");
}

/// The device has a cache of that type and no kernel that reads it.
void note_attention_left(Notes& notes, Judge& judge, const Request& request, const Trial& trial) {
    const Settings& s = trial.deployment.settings;
    if (trial.estimate.refusal || (s.type_k == TensorType::f16 && s.type_v == TensorType::f16)) return;
    Request usual = request;
    usual.type_k = usual.type_v = TensorType::f16;
    if (!attention_left(trial, judge.attempt(usual))) return;
    notes.push_back("with these cache types attention runs on the CPU: the GPU has no kernel for them, and answers "
                    "come at a crawl");
}

/// "GPU 0, GPU 2 and GPU 3".
std::string names_of_others(std::size_t n_devices, std::size_t main) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < n_devices; ++i) {
        if (i != main) names.push_back("GPU " + number(i));
    }
    return enumerated(names, "and");
}

void note_split(Notes& notes, const Trial& trial) {
    const PlacementRequest& p = trial.deployment.placement;
    if (p.split_mode == SplitMode::none && p.n_devices > 1)
        notes.push_back("without a split " + names_of_others(p.n_devices, p.main_device) +
                        (p.n_devices == 2 ? " holds" : " hold") +
                        " nothing but the context that is made on every GPU it sees");
    if (p.split_mode == SplitMode::row && p.n_devices > 1)
        notes.push_back("split by rows, weights and compute buffers are approximate: each part of a matrix is an "
                        "allocation of its own");
    if (p.split_mode != SplitMode::none && p.main_device > 0)
        notes.push_back("a main GPU matters only where nothing is split");
}

void note_overrides(Notes& notes, Judge& judge, const Trial& trial) {
    for (const TensorOverride& o : trial.deployment.placement.overrides) {
        if (!judge.estimator().matches_any(o.pattern))
            notes.push_back("the pattern " + quote(o.pattern) + " matches no tensor of " + judge.model().id);
    }
}

void note_placement(Notes& notes, const Judge& judge, const Trial& trial) {
    const std::int64_t n_items = std::int64_t{judge.model().n_block()} + 1;
    const std::int64_t n_asked = trial.deployment.placement.n_gpu_layers;
    if (n_asked >= 0 && n_asked < n_items)
        notes.push_back(
            number(static_cast<std::uint64_t>(n_asked)) + " of " + number(static_cast<std::uint64_t>(n_items)) +
            " layers on the GPU: the others run on the CPU, with their weights and caches in the computer's memory");
    if (trial.deployment.placement.n_cpu_moe > 0 && judge.model().hparams.get("expert_count", 0) == 0)
        notes.push_back("the model has no experts to keep on the CPU");
}

/// What was found where this machine's GPUs were asked for.
void note_machine(Notes& notes, const Request& request) {
    if (std::ranges::none_of(request.gpus, means_this_machine)) return;
    const Notes& found = detected_devices(request.use_environment).notes;
    notes.insert(notes.end(), found.begin(), found.end());
}

void note_devices(Notes& notes, const Judge& judge) {
    std::string last;
    for (const Device& device : judge.devices()) {
        const std::string note = device.note.empty() ? "" : device.name + ": " + device.note;
        if (!note.empty() && note != last) notes.push_back(note);
        last = note;
    }
    if (!judge.all_cuda())
        notes.push_back("the compute buffer is modelled: its rules were measured with CUDA");
    else if (!judge.compute_measured())
        notes.push_back("the compute buffer is modelled: its rules were measured with llama.cpp, not with " +
                        judge.runtime().name);
}

/// How a Mac's GPU gets more of its memory: until the next start, and not nearly all of it.
void note_wired_limit(Notes& notes, const Judge& judge, const Trial& trial) {
    constexpr double most = 0.9; // of the computer's memory: more than any macOS release offers
    for (std::size_t i = 0; i < judge.devices().size(); ++i) {
        const DeviceAnswer& device = trial.devices[i];
        const std::uint64_t needed = device.required + device.wanted;
        if (judge.devices()[i].kind != Device::Kind::metal || needed <= device.available) continue;
        const std::vector<GpuInfo> known = match_gpus(device.name);
        const std::uint64_t memory = known.size() == 1 ? known.front().nominal.value_or(0) : 0;
        if (static_cast<double>(needed) > most * static_cast<double>(memory)) continue;
        notes.push_back("sudo sysctl iogpu.wired_limit_mb=" + number(needed / mib + 1) +
                        " gives the GPU enough of the Mac's memory, until the next start");
    }
}

/// On Windows a card that is full borrows.
void note_spill(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    const bool borrows = std::ranges::any_of(judge.devices(), [](const Device& d) {
        return !d.unified && (d.kind == Device::Kind::cuda || d.kind == Device::Kind::generic);
    });
    if (!request.spills || !borrows || trial.verdict == Verdict::fit || trial.verdict == Verdict::refused) return;
    notes.emplace_back("on Windows the driver lends a full GPU the computer's memory instead of failing: it may load, "
                       "and run at a crawl");
}

/// What is to be known of an engine that is not llama.cpp.
void note_serving(Notes& notes, const Judge& judge, const Request& request, const Trial& trial) {
    const ServingProfile& engine = *judge.runtime().serving;
    notes.insert(notes.end(), engine.notes.begin(), engine.notes.end());
    if (!judge.model().file_type.empty())
        notes.push_back("sized as the published model in " + trial.deployment.weight_format + ": " + engine.gguf);
    if (request.ram)
        notes.push_back("what " + judge.runtime().name + " holds in RAM is not known, so --ram says nothing");
    const std::size_t n_devices = judge.devices().size();
    const std::size_t n_given = requested_devices(request).size();
    if (n_given > n_devices)
        notes.push_back(judge.runtime().name + " uses " + number(n_devices) + " of the " + number(n_given) + " GPUs");
    if (request.tensor_parallel > 1U && request.layers_parallel > 1U)
        notes.push_back("tensor and pipeline parallel together are sized as if every matrix were divided among all " +
                        number(n_devices) + " GPUs");
    else if (n_devices > 1)
        notes.push_back(number(n_devices) + " GPUs " +
                        (engine.parallel == ServingProfile::Parallel::tensor &&
                                 trial.deployment.placement.split_mode != SplitMode::layer
                             ? "share every matrix (tensor parallel)"
                             : "have whole layers each, one behind the other"));
}

} // namespace

namespace {

std::string gibibytes_up(std::uint64_t bytes) { return number(bytes / gib + (bytes % gib == 0 ? 0 : 1)) + " GiB"; }

} // namespace

void note_command(std::vector<std::string>& notes, const Judge& judge, const Command& command) {
    const RuntimeProfile& runtime = judge.runtime();
    const auto hint = [&](const char* kind) {
        const auto found = runtime.hints.find(kind);
        return found == runtime.hints.end() ? std::string() : found->second;
    };
    if (command.has_variables && !hint("environment").empty()) notes.push_back(hint("environment"));
    if (!command.elsewhere.empty()) notes.push_back(hint("elsewhere") + ": " + enumerated(command.elsewhere, "and"));
    if (!command.unsaid.empty())
        notes.push_back(runtime.name + " has no setting for " + enumerated(command.unsaid, "and") +
                        ": the figures are with it all the same");
}

std::string note_without_advice(const Judge& judge, const Trial& trial) {
    std::uint64_t most = 0; // bytes that a device must have, all of them alike
    for (const DeviceAnswer& device : trial.devices) {
        const std::uint64_t used = device.memory.sum() + device.wanted + device.reserve;
        Device larger; // whose overhead depends on its size
        larger.total = used + device.overhead;
        most = std::max(most, used + std::max(device.overhead, overhead_of(larger).sum()));
    }
    const std::string size = gibibytes_up(most);
    if (trial.ram && trial.ram->verdict == Verdict::oom &&
        std::ranges::none_of(trial.devices, [](const DeviceAnswer& d) { return d.verdict == Verdict::oom; }))
        return "nothing that can be changed here makes it fit: a computer with " +
               gibibytes_up(trial.ram->required + trial.ram->wanted) + " of memory, or a smaller model, is needed";
    return "nothing that can be changed here makes it fit: " +
           (judge.devices().size() == 1 ? "a GPU with " + size + ", or a smaller model, is needed"
                                        : "GPUs with " + size + " each, or a smaller model, are needed");
}

std::vector<std::string> notes_of(Judge& judge, const Request& request, const Trial& trial, ContextSource source) {
    Notes notes;
    notes = judge.runtime().version_notes;
    note_context(notes, judge, request, trial, source);
    if (judge.runtime().serving) {
        note_serving(notes, judge, request, trial);
        note_spill(notes, judge, request, trial);
        note_wired_limit(notes, judge, trial);
        note_machine(notes, request);
        return notes;
    }
    note_rounding(notes, judge, request, trial);
    note_slots(notes, judge, request, trial);
    note_embeddings(notes, judge, request, trial);
    note_windows(notes, judge, request, trial);
    note_attention(notes, trial);
    note_attention_left(notes, judge, request, trial);
    note_placement(notes, judge, trial);
    note_overrides(notes, judge, trial);
    note_split(notes, trial);
    note_weights(notes, judge, trial);
    note_companions(notes, request, trial);
    note_host(notes, judge, trial);
    note_machine(notes, request);
    note_devices(notes, judge);
    note_spill(notes, judge, request, trial);
    note_wired_limit(notes, judge, trial);
    return notes;
}

} // namespace vramfit
