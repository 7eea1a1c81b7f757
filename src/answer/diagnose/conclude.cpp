#include "conclude.hpp"

#include "log_text.hpp"
#include "programs.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

/// More than that of a card in other hands is another process, not the driver and the desktop.
constexpr std::uint64_t others_from = gib;

const LogDevice* device_of(const Load& load, std::string_view name) {
    if (const LogDevice* device = load.find_device(device_of_buffer(name))) return device;
    const bool apple = name.starts_with("MTL") || name.starts_with("Metal");
    for (const LogDevice& device : load.devices) {
        const bool same = apple && (device.name.starts_with("MTL") || device.name.starts_with("Metal"));
        if (same || (name.empty() && load.devices.size() == 1)) return &device;
    }
    return nullptr;
}

OptionalLogged first_of(const Load& load, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        if (const auto found = load.number(key)) return found;
    }
    return std::nullopt;
}

OptionalLogged add(OptionalLogged a, OptionalLogged b) {
    if (!a || !b) return a ? a : b;
    return Logged{a->value + b->value, a->line};
}

void put(Diagnosis& diagnosis, std::string_view name, const OptionalLogged& figure, bool bytes = true) {
    if (figure) diagnosis.figures.push_back({std::string(name), figure->value, figure->line, bytes});
}

OptionalLogged free_of(const Load& load, const Diagnosis& diagnosis, bool host) {
    if (host) return load.number("host_free");
    if (const auto now = load.number("free_now")) return now;
    const LogDevice* device = device_of(load, diagnosis.device);
    if (device == nullptr && diagnosis.device.empty() && !load.devices.empty() && !load.failed())
        device = &load.devices.front();
    if (device != nullptr && device->free) return device->free;
    return first_of(load, {"fit_free", "gpu_free", "estimate_free", "free", "table_free"});
}

OptionalLogged total_of(const Load& load, const Diagnosis& diagnosis, bool host) {
    if (host) return load.number("host_total");
    const LogDevice* device = device_of(load, diagnosis.device);
    if (device != nullptr && device->total) return device->total;
    return load.number("gpu_total");
}

void put_buffers(Diagnosis& diagnosis, const Load& load) {
    const bool real = load.has_buffers(); // else what was estimated counts
    const auto estimated = [&](std::string_view key) { return real ? std::nullopt : load.number(key); };
    auto weights = load.sum(BufferKind::weights, false);
    if (!weights) weights = first_of(load, {"weights", "vram_model", "table_weights"});
    if (!weights) weights = estimated("estimate_weights");
    put(diagnosis, "weights", weights);
    put(diagnosis, "host_weights", load.sum(BufferKind::weights, true));

    auto cache = add(load.sum(BufferKind::kv_cache, false), load.sum(BufferKind::kv_cache, true));
    const auto kv_self = load.number("kv_self"); // all of it, where the log does not begin with its first part
    if (kv_self && (!cache || kv_self->value > cache->value)) cache = kv_self;
    if (!cache) cache = first_of(load, {"kv_cache", "table_kv_cache"});
    if (!cache) cache = estimated("estimate_kv_cache");
    put(diagnosis, "kv_cache", cache);
    put(diagnosis, "recurrent_state",
        add(load.sum(BufferKind::recurrent_state, false), load.sum(BufferKind::recurrent_state, true)));

    auto compute = load.sum(BufferKind::compute, false);
    if (!compute) compute = first_of(load, {"compute", "compute_total", "table_compute"});
    if (!compute) compute = estimated("estimate_compute");
    put(diagnosis, "compute", compute);
    put(diagnosis, "host_compute", load.sum(BufferKind::compute, true));
    put(diagnosis, "output", load.sum(BufferKind::output, true));
    put(diagnosis, "projector", load.number("projector"));
    put(diagnosis, "required", estimated("estimate_required"));
    put(diagnosis, "file_size", load.number("file_size"));
}

/// The context of all slots, as printed or asked for; where only one slot's is shown, that of as many as are known.
OptionalLogged context_in_effect(const Load& load) {
    if (const auto n_ctx = load.number("n_ctx")) return n_ctx;
    if (const auto n_ctx = option_number(load, "ctx")) return n_ctx;
    auto each = first_of(load, {"n_ctx_seq", "n_ctx_slot"});
    auto slots = first_of(load, {"n_parallel", "n_slots"});
    if (!slots) slots = option_number(load, "parallel");
    const auto unified = load.texts.find("kv_unified");
    const bool shared = unified != load.texts.end() && (unified->second == "true" || unified->second == "1");
    constexpr std::uint64_t most = 10'000; // of either, times a context, far from overflowing
    if (each && slots && !shared && slots->value > 0 && slots->value < most && each->value <= max_ctx)
        each->value *= slots->value;
    return each;
}

void put_figures(Diagnosis& diagnosis, const Load& load) {
    const Budget budget = budget_of(load, diagnosis);
    if (load.failure) {
        put(diagnosis, "requested", load.failure->refusal.bytes);
        put(diagnosis, "limit", load.failure->refusal.limit);
    }
    put(diagnosis, "free", budget.free);
    put(diagnosis, "free_after_weights", load.number("free_after_weights"));
    put(diagnosis, "total", budget.total);
    if (budget.host) put(diagnosis, "gpu_free", load.number("gpu_free"));
    put(diagnosis, "n_ctx", context_in_effect(load), false);
    auto parallel = first_of(load, {"n_parallel", "n_slots"});
    put(diagnosis, "n_parallel", parallel ? parallel : option_number(load, "parallel"), false);
    put(diagnosis, "n_ctx_train", load.number("n_ctx_train"), false);
    put(diagnosis, "max_ctx", load.number("max_ctx"), false);
    put(diagnosis, "kv_tokens", load.number("kv_tokens"), false);
    for (const std::string_view key : {"n_batch", "n_ubatch", "gpu_layers", "gpu_layers_of", "max_num_seqs", "n_gpus"})
        put(diagnosis, key, load.number(key), false);
    put_buffers(diagnosis, load);
    for (const std::string_view key : {"others", "own", "slack", "kv_missing"}) put(diagnosis, key, load.number(key));
}

void put_settings(Diagnosis& diagnosis, const Load& load) {
    for (const auto& [key, value] : load.texts) {
        const auto line = load.text_lines.find(key);
        diagnosis.settings.push_back({key, value, line == load.text_lines.end() ? 0 : line->second});
    }
    for (const auto& [option, key] : {std::pair("cache-type-k", "cache_type_k"), {"cache-type-v", "cache_type_v"}}) {
        const std::string said = option_text(load, option);
        if (!said.empty() && !load.texts.contains(key)) diagnosis.settings.push_back({key, said, load.options_line});
    }
}

bool has_weights_on(const Load& load, std::string_view device) {
    return std::ranges::any_of(load.buffers, [&](const LogBuffer& buffer) {
        return buffer.kind == BufferKind::weights && device_of_buffer(buffer.device) == device;
    });
}

/// Whether what was asked for was there by the log's own figures, with room to spare: then it does not show what took
/// it. Only where it shows what lay there before.
bool would_have_fit(const Load& load, const Diagnosis& diagnosis) {
    const Budget budget = budget_of(load, diagnosis);
    const OptionalLogged asked = load.failure->refusal.bytes;
    if (budget.host || !asked || !budget.left) return false;
    if (budget.free_is_left) return asked->value <= *budget.left;
    if (load.number("projector") && diagnosis.stage != FailureStage::mmproj) return false; // is it there, or not yet?
    if (diagnosis.stage == FailureStage::weights) { // other backends ask for several buffers
        const bool whole = load.number("whole_weights").has_value();
        if (!whole && !diagnosis.device.starts_with("CUDA") && !diagnosis.device.starts_with("ROCm")) return false;
    } else if (!has_weights_on(load, diagnosis.device) ||
               (diagnosis.stage != FailureStage::kv_cache && !load.has_cache())) {
        return false;
    }
    return asked->value + driver_share <= *budget.left;
}

/// Whether the request would have been met, had the card been empty.
bool others_hold_it(const Load& load, const Diagnosis& diagnosis) {
    const Budget budget = budget_of(load, diagnosis);
    if (budget.host) return false;
    if (would_have_fit(load, diagnosis) && budget.free_is_left) return false; // they left enough
    if (const auto others = load.number("others")) return others->value >= others_from;
    const OptionalLogged asked = load.failure->refusal.bytes;
    if (!budget.total || !budget.free || !asked || budget.free_is_left) return false;
    const std::uint64_t held = budget.total->value - std::min(budget.total->value, budget.free->value);
    return held >= others_from + driver_share && budget.used + asked->value + driver_share <= budget.total->value;
}

/// A Vulkan driver refuses single buffers of a size that its memory would hold.
bool is_buffer_limit(const Load& load, const Diagnosis& diagnosis) {
    const LogRefusal& refusal = load.failure->refusal;
    if (refusal.per_buffer_limit) return true;
    const Budget budget = budget_of(load, diagnosis);
    return refusal.device.starts_with("Vulkan") && refusal.bytes && budget.left && refusal.bytes->value >= 2 * gib &&
           refusal.bytes->value + driver_share <= *budget.left;
}

/// Of the cards that have that name, the largest one's memory: drivers print one name for several sizes.
std::optional<std::uint64_t> most_of_named(std::string_view name) {
    std::optional<std::uint64_t> most;
    if (name.empty() || name.size() > 100) return most;
    for (const GpuInfo& gpu : match_gpus(name)) {
        if (gpu.unified || gpu.devices != 1 || !gpu.nominal) return std::nullopt;
        most = std::max(most.value_or(0), std::max(gpu.total.value_or(0), *gpu.nominal));
    }
    return most;
}

FailureCause cause_of_stage(FailureStage stage) {
    switch (stage) {
    case FailureStage::weights: return FailureCause::weights_too_large;
    case FailureStage::kv_cache: return FailureCause::kv_too_large;
    case FailureStage::compute: return FailureCause::compute_too_large;
    case FailureStage::generation: return FailureCause::generation_growth;
    case FailureStage::mmproj: return FailureCause::mmproj;
    case FailureStage::host: return FailureCause::host_memory;
    case FailureStage::settings: return FailureCause::setting;
    case FailureStage::per_buffer_limit: return FailureCause::per_buffer_limit;
    case FailureStage::none: break;
    }
    return FailureCause::none;
}

/// A compute buffer that comes last finds no room where weights and cache alone take more than was free: a driver that
/// lends the computer's memory let them.
std::optional<FailureCause> cause_before(const Load& load, const Diagnosis& diagnosis) {
    const Budget budget = budget_of(load, diagnosis);
    if (diagnosis.stage != FailureStage::compute || budget.host || budget.free_is_left) return std::nullopt;
    const auto room = budget.free ? std::optional(budget.free->value) : budget.most;
    if (!room || budget.used <= *room) return std::nullopt;
    const bool weights_fit = budget.used - budget.cache <= *room;
    return weights_fit ? FailureCause::kv_too_large : FailureCause::weights_too_large;
}

bool is_at_load(FailureStage stage) {
    return stage == FailureStage::weights || stage == FailureStage::kv_cache || stage == FailureStage::compute ||
           stage == FailureStage::mmproj;
}

/// What was refused was there, by the log's own figures. What generates can have asked for more in between, unless the
/// figures are those of the refusal itself.
bool is_unexplained(const Load& load, const Diagnosis& diagnosis) {
    const bool exact = runs_pytorch(diagnosis.runtime) && load.number("free_now");
    return (exact || is_at_load(diagnosis.stage)) && would_have_fit(load, diagnosis);
}

void judge_failure(Diagnosis& diagnosis, const Load& load) {
    const LogFailure& failure = *load.failure;
    diagnosis.stage = failure.stage;
    diagnosis.device = std::string(device_of_buffer(failure.refusal.device));
    diagnosis.oom = failure.stage != FailureStage::settings;
    diagnosis.cause = failure.cause.value_or(cause_of_stage(failure.stage));
    if (failure.cause) return;
    if (is_host_buffer(failure.refusal.device))
        diagnosis.cause = FailureCause::host_memory;
    else if (failure.part == LoadPart::draft)
        diagnosis.cause = FailureCause::draft;
    else if (is_buffer_limit(load, diagnosis))
        diagnosis.stage = FailureStage::per_buffer_limit, diagnosis.cause = FailureCause::per_buffer_limit;
    else if (others_hold_it(load, diagnosis) || is_unexplained(load, diagnosis))
        diagnosis.cause = FailureCause::other_process;
    else if (const auto before = cause_before(load, diagnosis))
        diagnosis.cause = *before;
}

std::string working_device(const Load& load) {
    for (const LogBuffer& buffer : load.buffers) {
        if (buffer.kind == BufferKind::weights && !is_host_buffer(buffer.device) && buffer.bytes > 0)
            return std::string(device_of_buffer(buffer.device));
    }
    return load.number("table_weights") && !load.devices.empty() ? load.devices.front().name : "";
}

/// "AWQ" of "org/Qwen2.5-1.5B-Instruct-AWQ": formats that only names of checkpoints tell.
std::string format_of_name(std::string_view name) {
    const std::string small = lower(name);
    for (const auto& [mark, format] :
         {std::pair("-awq", "AWQ"), {"-gptq", "GPTQ"}, {"-fp8", "FP8"}, {"-nvfp4", "NVFP4"}}) {
        if (small.find(mark) != std::string::npos) return format;
    }
    return "";
}

/// The file's name says most; a blob of Ollama's says nothing.
void put_model_name(Diagnosis& diagnosis, const Load& load) {
    const std::string_view file = log_text::model_file_name(load.path);
    const bool blob = file.starts_with("sha256") || file.empty();
    const bool by_name = blob && !load.name.empty();
    diagnosis.model_name = by_name ? load.name : std::string(file);
    diagnosis.model_line = by_name ? load.name_seen.line : load.path_seen.line;
}

void put_quant(Diagnosis& diagnosis, const Load& load) {
    diagnosis.quant = load.quant;
    diagnosis.quant_line = load.quant_seen.line;
    if (!diagnosis.quant.empty()) return;
    const auto quantization = load.texts.find("quantization");
    if (quantization != load.texts.end()) {
        diagnosis.quant = quantization->second;
        diagnosis.quant_line = load.text_lines.at("quantization");
    } else if (load.path.empty()) {
        diagnosis.quant = format_of_name(load.name);
        diagnosis.quant_line = load.name_seen.line;
    }
}

/// Programs that are runtimes of their own to vramfit have words in its profiles.
void put_program(Diagnosis& diagnosis, const Load& load) {
    const ProgramInfo* const program = find_program(load.program);
    const LogRuntime runtime = diagnosis.runtime;
    if (program == nullptr || (runtime != LogRuntime::llama_cpp && runtime != LogRuntime::unknown &&
                               runtime != LogRuntime::pytorch && runtime != LogRuntime::mlx))
        return;
    diagnosis.program = program->name;
    if (!program->llama_cpp && runtime == LogRuntime::llama_cpp) diagnosis.runtime = LogRuntime::unknown;
}

/// Names of functions tell builds of until the beginning of 2025, which seldom print their number. Forks count theirs
/// from older ones.
std::string build_of(const Load& load, const Diagnosis& diagnosis) {
    constexpr std::string_view last_of_2024 = "b4400";
    if (diagnosis.runtime != LogRuntime::llama_cpp || load.texts.contains("mla_attn")) return "";
    const std::size_t digits = std::min(load.version.find_first_of("0123456789"), load.version.size());
    const auto build = log_text::count(std::string_view(load.version).substr(digits));
    constexpr std::uint64_t least = 1000; // of 2023; a build from a shallow clone counts from 1
    if (build && *build >= least && *build < 1'000'000) return "b" + std::to_string(*build);
    return load.number("prints_of_2024") ? std::string(last_of_2024) : "";
}

} // namespace

std::string option_text(const Load& load, std::string_view name) {
    auto found = load.options.find(name);
    // Runtimes with one setting for the types of both caches.
    if (found == load.options.end() && name.starts_with("cache-type-")) found = load.options.find("cache-type");
    return found == load.options.end() ? "" : found->second;
}

OptionalLogged option_number(const Load& load, std::string_view name) {
    const auto value = log_text::count(option_text(load, name));
    return value && *value > 0 ? OptionalLogged({*value, load.options_line}) : std::nullopt;
}

bool is_fragmented(const Diagnosis& diagnosis) {
    const LogFigure* asked = diagnosis.figure("requested");
    const LogFigure* free = diagnosis.figure("free");
    const LogFigure* slack = diagnosis.figure("slack");
    const bool others = diagnosis.cause == FailureCause::other_process; // that leave it the pieces
    // Weights and caches are many tensors: where one of them finds no room, more are to come.
    const bool many = diagnosis.stage == FailureStage::weights || diagnosis.stage == FailureStage::kv_cache;
    if (many && slack != nullptr && slack->value < gib) return false;
    return diagnosis.oom && !others && asked != nullptr && free != nullptr && slack != nullptr &&
           free->value < asked->value && asked->value - free->value <= slack->value;
}

const Load& decisive_load(const LogFacts& facts) {
    if (facts.last->failed()) return *facts.last;
    if (facts.last_failed) return *facts.last_failed;
    const bool empty = facts.last->buffers.empty() && facts.last->numbers.empty() && facts.last->path.empty();
    return empty && facts.last_complete ? *facts.last_complete : *facts.last;
}

Budget budget_of(const Load& load, const Diagnosis& diagnosis) {
    Budget budget;
    budget.n_devices = static_cast<std::size_t>(
        std::ranges::count_if(load.devices, [](const LogDevice& device) { return device.free.has_value(); }));
    budget.host = diagnosis.stage == FailureStage::host || is_host_buffer(diagnosis.device);
    budget.free = free_of(load, diagnosis, budget.host);
    budget.total = total_of(load, diagnosis, budget.host);
    budget.free_is_left = !budget.host && load.number("free_now");
    if (!budget.host) {
        const LogDevice* device = device_of(load, diagnosis.device);
        const std::string_view name = diagnosis.device.empty() && device != nullptr ? device->name : diagnosis.device;
        budget.used = load.on_device(name);
        for (const LogBuffer& buffer : load.buffers) {
            if (buffer.kind == BufferKind::kv_cache && device_of_buffer(buffer.device) == name)
                budget.cache = std::max(budget.cache, buffer.bytes);
        }
    }
    const bool metal = diagnosis.device.starts_with("M");
    if (!budget.host && !budget.free && !metal) {
        const LogDevice* device = device_of(load, diagnosis.device);
        budget.most = budget.total ? std::optional(budget.total->value)
                                   : most_of_named(device != nullptr ? device->description : load.gpu);
    }
    // What the weights take is not shown on every log, and what they leave is not known then.
    if (budget.used > 0 && !budget.free_is_left && !load.sum(BufferKind::weights, false)) return budget;
    if (budget.free_is_left)
        budget.left = budget.free->value;
    else if (budget.free)
        budget.left = budget.free->value - std::min(budget.free->value, budget.used);
    else if (metal && budget.total) // Metal tells no free memory, but what it may use in all
        budget.left = budget.total->value - std::min(budget.total->value, budget.used);
    return budget;
}

Diagnosis conclude(const LogFacts& facts, const Load& load) {
    Diagnosis diagnosis;
    diagnosis.runtime = facts.runtime();
    put_program(diagnosis, load);
    if (load.failure) {
        judge_failure(diagnosis, load);
    } else if (load.other_error) {
        diagnosis.cause = FailureCause::not_memory;
        diagnosis.device = working_device(load);
    } else if (load.number("generic") && !load.ready && !load.retried) {
        diagnosis.oom = true;
        const bool loads = load.has_buffers() || !load.path.empty() || load.number("n_layer");
        diagnosis.stage = load.has_context ? FailureStage::compute
                          : loads          ? FailureStage::weights
                                           : FailureStage::generation;
        diagnosis.cause = cause_of_stage(diagnosis.stage);
    } else {
        diagnosis.device = working_device(load);
    }
    diagnosis.at_check = load.number("guardrail") || load.number("share_asked");
    diagnosis.training = diagnosis.oom && diagnosis.runtime == LogRuntime::pytorch && load.number("training");
    diagnosis.time_known =
        diagnosis.stage != FailureStage::generation || load.ready || (load.failure && load.failure->time_known);
    put_figures(diagnosis, load);
    put_settings(diagnosis, load);
    put_model_name(diagnosis, load);
    put_quant(diagnosis, load);
    const LogDevice* device = device_of(load, diagnosis.device);
    diagnosis.gpu = device != nullptr && !device->description.empty() ? device->description : load.gpu;
    diagnosis.version = load.version;
    diagnosis.build = build_of(load, diagnosis);
    diagnosis.notes = load.notes;
    diagnosis.evidence = load.evidence;
    diagnosis.private_names = facts.private_names;
    if (load.survived) diagnosis.notes.emplace_back("memory was refused once, and the runtime went on without it");
    return diagnosis;
}

} // namespace vramfit
