#include "sentences.hpp"

#include "advice.hpp"
#include "figure_text.hpp"
#include "llama_actions.hpp"
#include "spill.hpp"
#include "wording.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"

#include <algorithm>

namespace vramfit {
namespace {

std::string on_device(const Diagnosis& diagnosis) {
    if (diagnosis.device.empty()) return "the GPU";
    return diagnosis.device.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ -.") ==
                   std::string::npos
               ? diagnosis.device
               : quote(diagnosis.device);
}

/// PyTorch asks for one tensor after the other, and names the first that found no room.
bool is_one_tensor(const Diagnosis& diagnosis) {
    return runs_pytorch(diagnosis.runtime) && diagnosis.device.starts_with("GPU ") &&
           diagnosis.figure("requested") != nullptr && diagnosis.figure("max_ctx") == nullptr;
}

/// Several devices share the weights, and each has a buffer of its own.
bool is_part_of_weights(const Diagnosis& diagnosis, const Budget& budget) {
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* file = diagnosis.figure("file_size");
    return asked != nullptr && (file != nullptr ? asked->value < file->value / 10 * 9 : budget.n_devices > 1);
}

std::string thing_of(const Diagnosis& diagnosis, const Budget& budget) {
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    if (is_one_tensor(diagnosis)) {
        if (diagnosis.stage == FailureStage::weights) return "a tensor of the weights";
        if (diagnosis.stage == FailureStage::kv_cache) return "a tensor of the KV cache";
        if (diagnosis.stage == FailureStage::compute) return "a tensor of the computation";
    }
    if (diagnosis.stage == FailureStage::weights && is_part_of_weights(diagnosis, budget))
        return "this part of the weights";
    switch (diagnosis.stage) {
    case FailureStage::weights: return diagnosis.program == "ExLlama" ? "the model with its cache" : "the weights";
    case FailureStage::kv_cache:
        return n_ctx == nullptr ? "the KV cache" : "the KV cache of " + tokens_text(n_ctx->value);
    case FailureStage::compute: return "the compute buffer";
    case FailureStage::generation:
        return diagnosis.time_known ? "the memory that generation needs" : "the memory that was asked for";
    case FailureStage::mmproj: return "the multimodal projector";
    case FailureStage::host:
        return runs_pytorch(diagnosis.runtime) && diagnosis.figure("requested") != nullptr ? "a tensor" : "the model";
    case FailureStage::per_buffer_limit: return "a single buffer";
    default: return "the model";
    }
}

std::string capital(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

/// " (10240 MiB)" where the log says how much.
std::string asked_text(const Diagnosis& diagnosis) {
    const LogFigure* asked = diagnosis.figure("requested");
    return asked == nullptr ? "" : " (" + size_text(*asked) + ")";
}

/// What leaves no room for a compute buffer, which comes last.
std::string what_is_there(const Diagnosis& diagnosis) {
    return diagnosis.cause == FailureCause::kv_too_large ? "weights and cache" : "the weights";
}

/// SGLang: what the weights leave, less what its share keeps for what runs, is the cache's.
std::string no_pool_text(const Diagnosis& diagnosis) {
    const LogFigure* before = diagnosis.figure("free");
    const LogFigure* after = diagnosis.figure("free_after_weights");
    std::string text = ": the weights leave " + format_mib(after->value);
    if (before != nullptr) text += " of " + format_mib(before->value);
    const std::string_view share = setting_of(diagnosis, "mem_fraction_static");
    const LogFigure* missing = diagnosis.figure("kv_missing");
    if (missing == nullptr) return text + ", less than what runs beside weights and cache is to have";
    return text + ", and a share of " + printable(share) + " keeps " + format_mib(after->value + missing->value) +
           " for what runs beside weights and cache";
}

std::string fit_sentence(const Diagnosis& diagnosis, const Budget& budget) {
    const std::string thing = thing_of(diagnosis, budget);
    std::string text = capital(thing) + asked_text(diagnosis) + (thing == "the weights" ? " do" : " does") +
                       " not fit " + (budget.host ? "the computer's memory" : "on " + on_device(diagnosis));
    const LogFigure* weights = diagnosis.figure("weights");
    if (diagnosis.figure("free_after_weights") != nullptr && diagnosis.stage == FailureStage::kv_cache)
        return text + no_pool_text(diagnosis);
    if (const LogFigure* missing = diagnosis.figure("kv_missing"); missing != nullptr && !budget.left)
        return text + ": weights and activations alone take " + format_mib(missing->value) +
               " more than its share of the card";
    if (budget.most && budget.used > *budget.most && diagnosis.stage == FailureStage::compute)
        return text + "; " + what_is_there(diagnosis) + " alone take more than the " + format_mib(*budget.most) +
               " that such a card has";
    if (!budget.left) {
        const bool silent = diagnosis.figure("requested") == nullptr && diagnosis.figure("total") == nullptr &&
                            diagnosis.figure("required") == nullptr;
        const std::string_view whose = thing == "the weights" ? "their" : "its";
        return silent ? text + ": the log shows neither " + std::string(whose) + " size nor what was free" : text;
    }
    const bool start = !budget.free_is_left && budget.used > 0;
    text += ": " + format_mib(*budget.left) + (start ? " were left" : " were free");
    if (start && weights != nullptr && diagnosis.stage != FailureStage::weights)
        text += " beside what lay there already";
    if (diagnosis.stage == FailureStage::compute && diagnosis.cause != FailureCause::compute_too_large && budget.free &&
        budget.used > budget.free->value)
        return text + "; " + what_is_there(diagnosis) + " alone take more than the " + format_mib(budget.free->value) +
               " that were free";
    const LogFigure* asked = diagnosis.figure("requested");
    const bool enough = asked != nullptr && asked->value <= *budget.left;
    const LogFigure* own = diagnosis.figure("own");
    if (own != nullptr && is_one_tensor(diagnosis))
        text += " beside the " + format_bytes(own->value) + " that the program held already";
    else if (enough && !budget.free_is_left && weights == nullptr && diagnosis.stage != FailureStage::weights)
        text += " at the start, before the weights, whose size the log does not show";
    else if (enough && *budget.left - asked->value < driver_share)
        text += ", of which the driver and the program's own context take some hundred";
    else if (enough)
        text += ", less what the log does not show of the model and its cache";
    return text;
}

/// Nothing is known of the model, and so of what its cache takes; there was memory.
std::string unknown_cache_sentence(const Diagnosis& diagnosis, const Budget& budget, std::uint64_t free) {
    return capital(thing_of(diagnosis, budget)) + " was refused on " + on_device(diagnosis) + " with " +
           format_mib(free) + " free: whether that is too little depends on the model, which the log does not show";
}

/// What was asked for was there, as far as the log tells.
std::string other_process_sentence(const Diagnosis& diagnosis, const Budget& budget) {
    const std::string thing = capital(thing_of(diagnosis, budget)) + asked_text(diagnosis);
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* others = diagnosis.figure("others");
    const bool shown = others != nullptr && others->value >= gib;
    const bool enough = budget.left && asked != nullptr && asked->value <= *budget.left;
    if (!enough || (shown && !budget.free_is_left))
        return thing + " would fit on " + on_device(diagnosis) + ", but other processes hold memory there";
    return thing + " would fit on " + on_device(diagnosis) + " by the log's own figures (" + format_mib(*budget.left) +
           " left): another process, or a limit that the log does not show, must have taken the rest";
}

/// What was free would have done, were it in one piece.
std::string fragmented_sentence(const Diagnosis& diagnosis) {
    return capital(thing_of(diagnosis, {})) + asked_text(diagnosis) + " found no piece of memory on " +
           on_device(diagnosis) + " that is large enough: PyTorch holds " + size_text(*diagnosis.figure("slack")) +
           " that it does not use, in smaller pieces";
}

/// vLLM's check at start, before it loads anything.
std::string share_sentence(const Diagnosis& diagnosis) {
    const LogFigure* free = diagnosis.figure("free");
    return "vLLM asks for its share of the card" + asked_text(diagnosis) + " before it loads anything, and " +
           (free == nullptr ? "less" : format_gib(free->value)) + " was free on " + on_device(diagnosis);
}

/// Nothing was asked of the card: LM Studio expects that it would not be enough.
std::string guardrail_sentence(const Diagnosis& diagnosis) {
    const LogFigure* asked = diagnosis.figure("requested");
    const std::string figure =
        asked == nullptr ? "" : ": it expects the model to take " + decimal_gb(asked->value) + " in all";
    return "LM Studio's guardrail stopped the load before anything was loaded" + figure;
}

std::string limited_text(const Load& load) {
    switch (limited_buffer(load)) {
    case LimitedBuffer::weights: return "A single buffer of the weights";
    case LimitedBuffer::kv_cache: return "A single buffer of the KV cache";
    case LimitedBuffer::compute: return "A single compute buffer";
    case LimitedBuffer::unknown: break;
    }
    return "A single buffer";
}

/// vLLM's last step before it answers.
std::string sampler_sentence(const Diagnosis& diagnosis) {
    const LogFigure* requests = diagnosis.figure("max_num_seqs");
    return "vLLM found no memory" + asked_text(diagnosis) + " on " + on_device(diagnosis) +
           " when it tried its sampler with " + (requests == nullptr ? "all" : std::to_string(requests->value)) +
           " requests at once, the last step before it is ready";
}

/// What each example of a batch takes: activations for the gradients, beside weights, gradients and optimizer.
std::string training_sentence(const Diagnosis& diagnosis) {
    return "Training found no memory" + asked_text(diagnosis) + " on " + on_device(diagnosis) +
           ": what a batch of examples takes lies beside weights, gradients and the optimizer's state";
}

/// A line of the log with its reason, fit to be shown.
std::string quoted_line(std::string_view line) { return '"' + printable(trimmed(line)) + '"'; }

std::string summary_of(const Diagnosis& diagnosis, const Load& load) {
    const Budget budget = budget_of(load, diagnosis);
    if (is_fragmented(diagnosis)) return fragmented_sentence(diagnosis);
    if (diagnosis.training && diagnosis.cause == FailureCause::compute_too_large) return training_sentence(diagnosis);
    if (diagnosis.oom && load.number("share_asked")) return share_sentence(diagnosis);
    if (diagnosis.oom && load.number("guardrail")) return guardrail_sentence(diagnosis);
    if (diagnosis.oom && load.number("sampler")) return sampler_sentence(diagnosis);
    switch (diagnosis.cause) {
    case FailureCause::other_process: return other_process_sentence(diagnosis, budget);
    case FailureCause::per_buffer_limit:
        return limited_text(load) + asked_text(diagnosis) + " is larger than the driver allows on " +
               on_device(diagnosis) + ": the limit is one of buffers, not of the card's memory";
    case FailureCause::setting:
        return diagnosis.runtime == LogRuntime::lmstudio
                   ? "LM Studio's guardrail stopped the load without an estimate: a setting, not missing memory"
                   : "The settings exclude each other: a quantized V cache needs flash attention; no memory is missing";
    case FailureCause::host_memory:
        return load.failure && load.failure->text.find("illed") != std::string::npos
                   ? "The system ended the program because the computer's own memory ran out"
                   : fit_sentence(diagnosis, budget);
    case FailureCause::mmproj:
        return "The multimodal projector" + asked_text(diagnosis) + " does not fit on " + on_device(diagnosis) +
               " beside the model";
    case FailureCause::draft:
        return "The draft model's part" + asked_text(diagnosis) + " does not fit on " + on_device(diagnosis) +
               " beside the main model";
    case FailureCause::generation_growth:
        return capital(thing_of(diagnosis, budget)) + asked_text(diagnosis) + " was missing on " +
               on_device(diagnosis) +
               (diagnosis.time_known ? ": it loaded, and grew past what was left"
                                     : "; the log does not show whether it had loaded");
    case FailureCause::not_memory:
        return "The log shows a failure that is not about memory: " + quoted_line(load.other_error->text) + ", line " +
               std::to_string(load.other_error->number);
    case FailureCause::none:
        return load.number("resource_limits")
                   ? "Ollama failed and suspects memory, but the log shows no request that was refused"
                   : "The log shows no memory failure";
    default: return fit_sentence(diagnosis, budget);
    }
}

void add_notes(Diagnosis& diagnosis, const Load& load) {
    auto& notes = diagnosis.notes;
    const LogFigure* n_ctx = diagnosis.figure("n_ctx");
    if (diagnosis.stage == FailureStage::kv_cache && n_ctx != nullptr && diagnosis.figure("kv_cache") == nullptr &&
        !diagnosis.figure("n_layer") && load.devices.empty())
        notes.emplace_back(
            "n_ctx counts tokens, not bytes: the cache keeps a key and a value for each of them, in every layer");
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    const LogFigure* slack = diagnosis.figure("slack"); // PyTorch's own, unused: in pieces, perhaps
    const std::uint64_t unused = slack == nullptr ? 0 : slack->value;
    if (diagnosis.oom && asked != nullptr && free != nullptr && asked->value > free->value + unused &&
        diagnosis.cause != FailureCause::other_process)
        notes.emplace_back("not fragmentation: more was asked for than was free in all");
    const LogFigure* parallel = diagnosis.figure("n_parallel");
    if (diagnosis.oom && diagnosis.runtime == LogRuntime::ollama && parallel != nullptr && parallel->value > 1)
        notes.emplace_back("Ollama multiplies the context by its " + std::to_string(parallel->value) +
                           " parallel requests");
    if (const auto tier = load.number("default_ctx"); diagnosis.oom && tier)
        notes.emplace_back("Ollama chose a context of " + std::to_string(tier->value) +
                           " by the card's memory; nobody asked for it");
    const ProgramInfo* const program = program_of(diagnosis);
    if (diagnosis.stage == FailureStage::generation && diagnosis.runtime == LogRuntime::pytorch && program == nullptr)
        notes.emplace_back(
            "transformers lets its cache grow with the text, so it fails while generating, not while loading");
    if (diagnosis.stage == FailureStage::kv_cache && runs_llama_cpp(diagnosis))
        notes.emplace_back("llama.cpp reserves the cache of the whole context while it loads, used or not");
    if (program != nullptr && !program->language_models)
        notes.push_back(std::string(program->name) + " runs no language models, and those are what vramfit sizes");
    if (diagnosis.training) notes.emplace_back("vramfit sizes models that answer; training takes far more");
    const auto copies = load.number("n_copies");
    if (diagnosis.stage == FailureStage::compute && copies && copies->value > 1)
        notes.push_back("pipeline parallelism over the GPUs keeps " + std::to_string(copies->value) +
                        " copies of what goes from one to the next, in the compute buffers");
    add_spill_notes(diagnosis, load);
    if (load.number("sycl_modulo") && diagnosis.device.starts_with("SYCL") && asked != nullptr &&
        asked->value > 4 * gib)
        notes.emplace_back("SYCL's own message counts modulo 4 GiB; the buffer's full size is on the other line");
}

} // namespace

void add_sentences(Diagnosis& diagnosis, const Load& load, const Subject& subject) {
    const Budget budget = budget_of(load, diagnosis);
    const LogFigure* free = diagnosis.figure("free");
    const bool unknown_cache = diagnosis.oom && diagnosis.figure("requested") == nullptr && !subject.known() &&
                               diagnosis.stage == FailureStage::kv_cache &&
                               diagnosis.cause == FailureCause::kv_too_large && runs_llama_cpp(diagnosis);
    diagnosis.summary = unknown_cache && free != nullptr && free->value >= 4 * gib
                            ? unknown_cache_sentence(diagnosis, budget, free->value)
                            : summary_of(diagnosis, load);
    add_notes(diagnosis, load);
    for (std::string& note : diagnosis.notes) note = note.substr(0, 300);
}

} // namespace vramfit
