#include "vramfit/answer/diagnosis.hpp"

#include "actions.hpp"
#include "agreement.hpp"
#include "arithmetic.hpp"
#include "conclude.hpp"
#include "log_reader.hpp"
#include "log_text.hpp"
#include "model_guess.hpp"
#include "plausible.hpp"
#include "request_of.hpp"
#include "sentences.hpp"
#include "subject.hpp"

#include "answer/judge.hpp"

#include "vramfit/base/error.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <algorithm>

namespace vramfit {
namespace {

/// What a person says of the memory counts before what the log says.
void apply_hints(Load& load, const Request& hints) {
    if (hints.free) load.numbers["free_now"] = {*hints.free, 0};
    if (!hints.gpus.empty() && !load.number("gpu_total")) {
        const std::vector<Device> devices = requested_devices(hints);
        const bool alike =
            std::ranges::all_of(devices, [&](const Device& device) { return device.total == devices.front().total; });
        if (alike) load.numbers["gpu_total"] = {devices.front().total, 0};
    }
    if (hints.n_ctx && *hints.n_ctx > 0) load.numbers["n_ctx"] = {*hints.n_ctx, 0};
}

/// Where the log does not show what was loaded, the command says it. Ollama's files have no names.
void name_by_command(Load& load) {
    const std::string said = option_text(load, "model");
    if (!load.path.empty() || !load.name.empty() || log_text::file_name(said).starts_with("sha256")) return;
    load.path = said;
    load.path_seen = {said, load.options_line};
}

/// Drivers print one name for cards of several sizes: which one it is, a person must say.
void note_namesakes(Diagnosis& diagnosis) {
    if (std::ranges::find(diagnosis.missing, "--gpu") == diagnosis.missing.end() || diagnosis.gpu.empty()) return;
    if (diagnosis.gpu.size() > 100) return;
    std::vector<std::string> ids;
    for (const GpuInfo& gpu : match_gpus(diagnosis.gpu)) ids.push_back(gpu.id);
    if (ids.size() > 1)
        diagnosis.notes.push_back("several cards have the name that the log shows: for --gpu, it is one of " +
                                  enumerated(ids));
}

/// Where nobody knows which program it was, most are llama.cpp underneath.
void note_borrowed_flags(Diagnosis& diagnosis) {
    const bool flags = std::ranges::any_of(diagnosis.actions, [](const auto& action) { return !action.flags.empty(); });
    if (diagnosis.runtime == LogRuntime::unknown && diagnosis.program.empty() && flags)
        diagnosis.notes.emplace_back("the log does not show which program wrote it: the flags are llama.cpp's");
}

} // namespace

const LogFigure* Diagnosis::figure(std::string_view name) const {
    const auto found = std::ranges::find(figures, name, &LogFigure::name);
    return found == figures.end() ? nullptr : &*found;
}

Diagnosis diagnose(const ByteStream& log, const Request& hints) {
    check_hints(hints);
    const LogFacts facts = LogReader::read(log);
    if (facts.n_bytes == 0) throw Error("the log is empty; give the output of the program that failed");
    const Load* decisive = &decisive_load(facts);
    Load load = without_impossible(*decisive);
    name_by_command(load);
    apply_hints(load, hints);
    Diagnosis diagnosis = conclude(facts, load);
    if (facts.last->ready && decisive != &*facts.last)
        diagnosis.notes.push_back("a later load, from line " + std::to_string(facts.last->first_line) +
                                  " on, succeeded");
    Subject subject = subject_of(load, hints);
    diagnosis.model_id = subject.id;
    diagnosis.model_guess = subject.shape_of;
    identify_quant(diagnosis, load, hints);
    Request request = request_of(load, diagnosis, hints, subject);
    check_agreement(diagnosis, load, request, subject);
    add_arithmetic(diagnosis, load, request, subject);
    add_sentences(diagnosis, load, subject);
    add_actions(diagnosis, load, request, subject);
    note_namesakes(diagnosis);
    note_borrowed_flags(diagnosis);
    return diagnosis;
}

std::string_view name_of(LogRuntime runtime) {
    switch (runtime) {
    case LogRuntime::llama_cpp: return "llama.cpp";
    case LogRuntime::ollama: return "ollama";
    case LogRuntime::lmstudio: return "lmstudio";
    case LogRuntime::vllm: return "vllm";
    case LogRuntime::sglang: return "sglang";
    case LogRuntime::pytorch: return "pytorch";
    case LogRuntime::mlx: return "mlx";
    case LogRuntime::koboldcpp: return "koboldcpp";
    case LogRuntime::tensorrt_llm: return "tensorrt-llm";
    case LogRuntime::unknown: break;
    }
    return "unknown";
}

std::string_view name_of(FailureStage stage) {
    switch (stage) {
    case FailureStage::weights: return "weights";
    case FailureStage::kv_cache: return "kv_cache";
    case FailureStage::compute: return "compute";
    case FailureStage::generation: return "generation";
    case FailureStage::mmproj: return "mmproj";
    case FailureStage::host: return "host";
    case FailureStage::settings: return "settings";
    case FailureStage::per_buffer_limit: return "per_buffer_limit";
    case FailureStage::none: break;
    }
    return "none";
}

std::string_view name_of(FailureCause cause) {
    switch (cause) {
    case FailureCause::kv_too_large: return "kv_too_large";
    case FailureCause::weights_too_large: return "weights_too_large";
    case FailureCause::compute_too_large: return "compute_too_large";
    case FailureCause::generation_growth: return "generation_growth";
    case FailureCause::other_process: return "other_process";
    case FailureCause::per_buffer_limit: return "per_buffer_limit";
    case FailureCause::setting: return "setting";
    case FailureCause::host_memory: return "host_memory";
    case FailureCause::mmproj: return "mmproj";
    case FailureCause::draft: return "draft";
    case FailureCause::not_memory: return "not_memory";
    case FailureCause::none: break;
    }
    return "none";
}

} // namespace vramfit
