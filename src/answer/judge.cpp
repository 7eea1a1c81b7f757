#include "judge.hpp"

#include "host_memory.hpp"
#include "overrides.hpp"
#include "serving_deployment.hpp"
#include "serving_devices.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/base/embedded_data.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/base/names.hpp"
#include "vramfit/base/quote.hpp"
#include "vramfit/base/text.hpp"
#include "vramfit/hardware/detect.hpp"
#include "vramfit/hardware/overhead.hpp"

#include <algorithm>
#include <limits>

namespace vramfit {
namespace {

constexpr std::uint64_t default_margin = gib; // the target that llama.cpp's own --fit keeps (common/common.h)
// Nobody has measured the compute buffers of Metal, ROCm and Vulkan; a quarter is more than their kernels' scratch.
constexpr std::uint64_t modelled_share = 4;

[[noreturn]] void throw_more_free(std::uint64_t free, const Device& device) {
    // In whichever unit shows that they differ.
    std::string (*text)(std::uint64_t) = format_bytes;
    if (text(free) == text(device.total)) text = format_mib;
    if (text(free) == text(device.total)) text = [](std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; };
    throw Error("free memory of " + text(free) + " is more than the " + text(device.total) + " of " + device.name);
}

std::vector<Device> devices_named(const std::string& spec, bool use_environment) {
    return means_this_machine(spec) ? detected_devices(use_environment).devices : parse_gpu_spec(spec);
}

std::vector<Device> devices_of_request(const Request& request) {
    if (request.gpus.empty())
        throw Error("no GPU is given; give its memory, such as 24GB, or its name, such as rtx4090");
    if (std::ranges::count_if(request.gpus, means_this_machine) > 1)
        throw Error("--gpu auto stands for all GPUs of this machine; give it once");
    std::vector<Device> devices;
    for (const std::string& spec : request.gpus) {
        for (Device& device : devices_named(spec, request.use_environment)) {
            if (request.free) {
                if (*request.free > device.total) throw_more_free(*request.free, device);
                device.free = request.free;
            }
            devices.push_back(std::move(device));
        }
    }
    if (devices.size() > max_devices)
        throw Error(std::to_string(devices.size()) + " GPUs are too many; give at most " + std::to_string(max_devices));
    return devices;
}

DeviceAnswer blank_answer(const Device& device, std::uint64_t reserve) {
    DeviceAnswer answer;
    answer.name = device.name;
    answer.total = device.total;
    answer.reserve = reserve;
    const std::uint64_t usable = device.free.value_or(device.total);
    answer.available = usable - std::min(usable, reserve);
    const Overhead overhead = overhead_of(device);
    answer.overhead = overhead.sum();
    answer.overhead_low = overhead.low;
    answer.overhead_high = overhead.high;
    answer.overhead_error = overhead.high - std::min(overhead.high, overhead.sum());
    answer.overhead_basis = overhead.basis_text;
    return answer;
}

std::uint64_t wanted_headroom(const DeviceAnswer& device, std::uint64_t margin) {
    return std::max(margin, device.error);
}

/// a - b, or the nearest number that a headroom can be.
std::int64_t difference(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    const auto size = static_cast<std::int64_t>(std::min(a > b ? a - b : b - a, most));
    return a > b ? size : -size;
}

bool is_cuda(const Device& device) { return device.kind == Device::Kind::cuda || device.kind == Device::Kind::generic; }

std::uint64_t seen_free(const DeviceAnswer& device) {
    // What a device reports once a context exists on it.
    return device.available - std::min(device.available, device.overhead);
}

/// The devices that the runtime sees, in its order.
std::vector<Device> seen_devices(const std::vector<Device>& given, const Request& request) {
    if (request.visible_devices.empty()) return given;
    std::vector<Device> seen;
    for (const std::uint32_t index : request.visible_devices) {
        if (index >= given.size())
            throw Error("the command runs on GPU " + std::to_string(index) + ", and there " +
                        (given.size() == 1 ? "is one GPU" : "are " + std::to_string(given.size()) + " GPUs") +
                        ", numbered from 0");
        seen.push_back(given[index]);
    }
    return seen;
}

/// The devices that an engine uses of those that are given, where it was told how many.
std::vector<Device> used_devices(std::vector<Device> given, const Request& request, const RuntimeProfile& runtime) {
    if (!runtime.serving || (!request.tensor_parallel && !request.layers_parallel)) return given;
    const std::size_t used = request.tensor_parallel.value_or(1) * request.layers_parallel.value_or(1);
    if (used > given.size())
        throw Error(runtime.name + " is to run on " + std::to_string(used) + " GPUs, and " +
                    std::to_string(given.size()) + (given.size() == 1 ? " is given" : " are given"));
    given.resize(used);
    return given;
}

/// ggml-cuda/common.cuh, GGML_CUDA_MAX_DEVICES; ggml-vulkan.cpp has the same limit.
constexpr std::size_t most_of_llama_cpp = 16;

void check_device_count(std::size_t n_devices, const RuntimeProfile& runtime) {
    if (runtime.serving || n_devices <= most_of_llama_cpp) return;
    throw Error(std::to_string(n_devices) + " GPUs are more than the " + std::to_string(most_of_llama_cpp) +
                " that llama.cpp can use; give at most so many");
}

void check_mtp(const Model& model) {
    if (model.hparams.get("nextn_predict_layers", 0) > 0) return;
    const std::string variant = model.id + "+mtp";
    const bool known =
        model.source == "catalog" && !embedded::with_key(embedded::model_names(), normalize_name(variant)).empty();
    throw Error(model.id + " has no MTP block; leave --mtp out" +
                (known ? ", or ask for " + variant + ", whose file has one" : ""));
}

} // namespace

std::vector<Device> requested_devices(const Request& request) { return devices_of_request(request); }

const DeviceAnswer& Trial::worst() const {
    return *std::ranges::min_element(devices, {}, [](const DeviceAnswer& device) {
        return device.headroom - static_cast<std::int64_t>(device.wanted);
    });
}

std::int64_t Trial::spare(Verdict goal) const {
    if (verdict == Verdict::refused) return std::numeric_limits<std::int64_t>::min();
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const DeviceAnswer& device : devices) {
        const std::uint64_t wanted = goal == Verdict::fit ? device.wanted : 0;
        constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min() + 1; // one above a refusal
        const std::int64_t taken = difference(wanted, 0);
        const bool countable = device.headroom >= lowest + taken;
        least = std::min(least, countable ? device.headroom - taken : lowest);
    }
    if (ram) least = std::min(least, ram->headroom - (goal == Verdict::fit ? difference(ram->wanted, 0) : 0));
    return least;
}

bool attention_left(const Trial& trial, const Trial& other) {
    if (other.estimate.refusal) return false; // that has no graph to compare with
    std::size_t n_attention = 0;
    for (const Cache& cache : trial.estimate.caches) n_attention += cache.recurrent ? 0 : cache.layers.size();
    const std::size_t before = std::max<std::size_t>(2, other.estimate.n_splits);
    return n_attention > 0 && trial.estimate.n_splits >= before + n_attention;
}

Judge::Judge(const Request& request, Estimator& estimator)
    : estimator_(estimator),
      runtime_(request.runtime_version ? find_runtime_version(request.runtime, *request.runtime_version)
                                       : find_runtime(request.runtime)),
      companions_(estimator, runtime_),
      devices_(used_devices(seen_devices(devices_of_request(request), request), request, runtime_)),
      margin_(request.margin.value_or(runtime_.serving ? runtime_.serving->margin : default_margin)),
      tier_overhead_(request.tier_overhead.value_or(0)) {
    check_device_count(devices_.size(), runtime_);
    if (runtime_.serving) serving_.emplace(estimator.model(), *runtime_.serving);
    for (const Device& device : devices_) blank_.push_back(blank_answer(device, request.reserve.value_or(0)));
}

bool Judge::all_cuda() const { return std::ranges::all_of(devices_, is_cuda); }

bool Judge::compute_measured() const { return runtime_.compute_measured && all_cuda(); }

std::uint64_t Judge::gpu_memory() const {
    std::uint64_t sum = 0;
    for (const Device& device : devices_)
        sum = checked_add(sum, device.total - std::min(device.total, tier_overhead_), "the memory of all GPUs");
    return sum;
}

Outlook Judge::outlook(const Deployment& d, std::optional<std::size_t> one) const {
    Outlook outlook;
    if (!runtime_.auto_batch) return outlook;
    outlook.file_bytes = estimator_.tensor_bytes(d.file_type, d.imatrix);
    outlook.cuda = std::ranges::any_of(devices_, is_cuda);
    outlook.smallest = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < blank_.size(); ++i) {
        if (one && *one != i) continue;
        const std::uint64_t free = seen_free(blank_[i]);
        outlook.free = checked_add(outlook.free, free, "the free memory of all GPUs");
        outlook.smallest = std::min(outlook.smallest, free);
    }
    return outlook;
}

std::optional<std::size_t> Judge::one_gpu(const Request& request, const Deployment& d) const {
    const bool said = !request.tensor_split.empty() || request.split_mode || !request.override_tensors.empty();
    if (runtime_.one_gpu_percent == 0 || devices_.size() < 2 || said) return std::nullopt;
    const std::uint64_t n_slots =
        has_single_slot(request, runtime_, model()) ? 1 : request.parallel.value_or(runtime_.slots);
    const std::uint64_t n_ctx = context_cells(request.n_ctx.value_or(0), n_slots, runtime_, model());
    const std::uint64_t need = predicted_memory(model(), estimator_.tensor_bytes(d.file_type, d.imatrix), n_ctx);
    const auto freest = std::ranges::max_element(blank_, {}, seen_free);
    const std::uint64_t most = checked_mul(seen_free(*freest), runtime_.one_gpu_percent, "a share of a GPU") / 100;
    if (need > most) return std::nullopt;
    return static_cast<std::size_t>(freest - blank_.begin());
}

std::uint64_t Judge::kv_bytes_per_token(const Deployment& deployment) {
    return serving_ ? serving_->kv_bytes_per_token(deployment) : estimator_.kv_bytes_per_token(deployment);
}

Deployment Judge::deployment(const Request& request) const {
    if (runtime_.serving) return serving_deployment(model(), runtime_, devices_, request);
    if (request.cache_dtype)
        throw Error(runtime_.id + " has no KV cache of type " + quote(*request.cache_dtype) +
                    "; --cache-type q8_0 would be like it");
    if (request.tensor_parallel || request.layers_parallel)
        throw Error(runtime_.id + " has no ranks; --split-mode row or layer would be like them");
    if (!request.cuda_graphs)
        throw Error("--enforce-eager is a setting of vLLM and SGLang; " + runtime_.id + " has none such");
    if (request.parallel > max_sequences)
        throw Error(std::to_string(*request.parallel) + " slots are more than the " + std::to_string(max_sequences) +
                    " that llama.cpp can have");
    if (request.memory_share) throw Error(runtime_.id + " takes no share of a GPU: it takes what it needs");
    Deployment d;
    d.imatrix = request.imatrix;
    if (request.quant)
        d.file_type = parse_file_type(*request.quant);
    else if (model().file_type.empty())
        throw Error("no quantization is given for " + model().id + "; give a file type such as q4_k_m");

    if (request.mtp) check_mtp(model());
    const std::optional<std::size_t> one = one_gpu(request, d);
    d.settings = settings_of(request, runtime_, model(), outlook(d, one));

    PlacementRequest& p = d.placement;
    p.n_devices = static_cast<std::uint32_t>(devices_.size());
    p.n_gpu_layers = std::max(gpu_layers_all, request.n_gpu_layers.value_or(gpu_layers_all)); // auto: see resolve_auto
    p.n_cpu_moe = request.n_cpu_moe;
    p.overrides = parse_overrides(request.override_tensors, devices_, runtime_);
    p.split_mode = request.split_mode.value_or(SplitMode::layer);
    p.main_device = request.main_gpu;
    p.tensor_split = request.tensor_split;
    if (one) {
        p.tensor_split.assign(devices_.size(), 0);
        p.tensor_split[*one] = 1;
    } else if (p.tensor_split.empty() && devices_.size() > 1) {
        // llama.cpp splits by the free memory that a device reports (llama-model.cpp).
        for (const DeviceAnswer& device : blank_) p.tensor_split.push_back(static_cast<double>(seen_free(device)));
        // Equal shares are what no shares mean: so all pairs of the same card are one placement. So are shares of nothing.
        const auto differs = [](double a, double b) { return a != b; };
        if (std::ranges::adjacent_find(p.tensor_split, differs) == p.tensor_split.end()) p.tensor_split.clear();
    }
    return d;
}

Verdict Judge::judge_device(DeviceAnswer& device) const {
    const DeviceMemory& m = device.memory;
    // A device with nothing on it has llama.cpp's context alone, and that fits or not.
    device.wanted = m.sum() == 0 ? 0 : wanted_headroom(device, margin_);
    device.required = device.overhead;
    for (const std::uint64_t part :
         {m.weights, m.kv_cache, m.recurrent_state, m.compute, m.adapters, m.projector, m.draft})
        device.required = checked_add(device.required, part, "the memory of " + device.name);
    device.headroom = difference(device.available, device.required);
    if (device.headroom < 0) return Verdict::oom;
    return static_cast<std::uint64_t>(device.headroom) < device.wanted ? Verdict::tight : Verdict::fit;
}

/// The verdict of each device on what lies there.
void Judge::fill_in(Trial& trial) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        DeviceAnswer& device = trial.devices[i];
        device.memory = trial.estimate.devices[i];
        device.compute_error = trial.estimate.compute_error;
        if (!serving_ && (!runtime_.compute_measured || !is_cuda(devices_[i])))
            device.compute_error = std::max(device.compute_error, device.memory.compute / modelled_share);
        device.companion_error = trial.companions.errors.empty() ? 0 : trial.companions.errors[i];
        device.error = checked_add(device.compute_error, device.overhead_error, "the error of " + device.name);
        device.error = checked_add(device.error, device.companion_error, "the error of " + device.name);
        device.verdict = judge_device(device);
        if (trial.estimate.refusal) device.verdict = Verdict::refused;
        trial.verdict = std::max(trial.verdict, device.verdict);
    }
}

/// What an engine that is not llama.cpp makes of the request.
void Judge::serve(const Request& request, Trial& trial) {
    const ServingProfile& engine = *runtime_.serving;
    trial.estimate = serving_->estimate(trial.deployment);
    trial.devices = serving_devices(devices_, engine, request);
    trial.share = share_in_effect(devices_.front(), engine, request, devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i)
        trial.estimate.devices[i].compute += kept_for_activations(trial.devices[i], engine, request, devices_.size());
    if (!trial.estimate.refusal) trial.estimate.refusal = startup_refusal(devices_, engine, request);
    if (!trial.estimate.refusal) trial.estimate.refusal = refusal_above_trained(engine, request, model());
    fill_in(trial);
    trial.serving = serving_answer(*serving_, engine, trial.deployment, trial.devices);
}

Trial Judge::attempt(const Request& request) {
    Trial trial;
    trial.deployment = deployment(request);
    if (serving_) {
        serve(request, trial);
        return trial;
    }
    if (model().file_type.empty()) {
        if (const auto refusal = estimator_.quant_refusal(trial.deployment.file_type, request.imatrix))
            throw Error(*refusal);
    }
    trial.estimate = estimator_.estimate(trial.deployment);
    trial.growth = host_growth(runtime_, model(), trial.deployment.settings, trial.estimate);
    trial.companions = companions_.add(request, trial.deployment, trial.estimate);
    trial.devices = blank_;
    fill_in(trial);
    // A machine whose GPU shares its memory has what the catalog says of it, and no more for the CPU's part.
    const std::optional<std::uint64_t> ram = request.ram ? request.ram : devices_.front().ram;
    if (ram && !trial.estimate.refusal) {
        trial.ram = judge_host(*ram, margin_, trial.estimate, devices_);
        trial.verdict = std::max(trial.verdict, trial.ram->verdict);
    }
    return trial;
}

} // namespace vramfit
