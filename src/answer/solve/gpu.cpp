#include "sweep.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/hardware/gpu_catalog.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace vramfit {
namespace {

constexpr std::array<unsigned, 3> card_counts{1, 2, 4}; // that boards and cases have slots for

/// One or several of the same card, and what came of trying them.
struct Cards {
    const GpuInfo* gpu = nullptr;
    unsigned count = 1;
    std::uint64_t usable = 0;
    Trial trial;

    std::string spec() const { return count == 1 ? gpu->id : std::to_string(count) + "x" + gpu->id; }
};

/// Does the computer hold more than one of it? Unified memory, integrated GPUs and laptops' stand alone.
bool comes_alone(const GpuInfo& gpu) { return gpu.unified || gpu.kind == "laptop" || gpu.kind == "integrated"; }

/// Has it memory of its own, or a known share of the computer's?
bool has_memory(const GpuInfo& gpu) { return gpu.nominal || gpu.total; }

std::uint64_t usable_bytes(const std::vector<DeviceAnswer>& devices) {
    std::uint64_t sum = 0;
    for (const DeviceAnswer& device : devices) sum = checked_add(sum, device.available);
    return sum;
}

/// What must lie on the devices, however many they are.
std::uint64_t least_bytes(const Trial& trial) {
    const DeviceMemory& memory = trial.devices.front().memory;
    return checked_add(memory.weights, checked_add(memory.kv_cache, memory.recurrent_state));
}

/// The card, and two and four of it, until that fits.
void try_card(const GpuInfo& gpu, const Request& request, Estimator& estimator, std::uint64_t least,
              std::vector<Cards>& found) {
    for (const unsigned count : card_counts) {
        if (count > 1 && comes_alone(gpu)) return;
        Cards cards;
        cards.gpu = &gpu;
        cards.count = count;
        Request asked = request;
        asked.gpus = {cards.spec()};
        Judge judge(asked, estimator);
        cards.usable = usable_bytes(judge.empty_devices());
        if (cards.usable < least) continue;
        cards.trial = judge.attempt(asked);
        const Verdict verdict = cards.trial.verdict;
        if (is_good(verdict, request)) found.push_back(std::move(cards));
        if (verdict == Verdict::fit) return;
    }
}

/// "on one GPU it needs 9.2 GiB: weights 4.3 GiB, ...".
std::string needed_note(const Request& request, const Trial& trial) {
    const DeviceMemory& memory = trial.devices.front().memory;
    std::string parts;
    const auto add = [&](std::string_view name, std::uint64_t bytes) {
        if (bytes > 0) parts += (parts.empty() ? ": " : ", ") + std::string(name) + " " + format_bytes(bytes);
    };
    add("weights", memory.weights);
    add("KV cache", memory.kv_cache);
    add("recurrent state", memory.recurrent_state);
    add("compute", memory.compute);
    add("adapters", memory.adapters);
    add("projector", memory.projector);
    add("draft", memory.draft);
    const std::uint64_t needed = needed_bytes(trial);
    add("driver and process", needed - memory.sum());
    const bool divided =
        request.n_gpu_layers >= 0 || request.n_cpu_moe > 0 || !request.kv_offload || !request.override_tensors.empty();
    const std::string host = divided ? ", and " + format_bytes(trial.estimate.host.total()) + " of RAM" : "";
    return "on one GPU it needs " + format_bytes(needed) + parts + host;
}

TableRow row_of(const Cards& cards) {
    const GpuInfo& gpu = *cards.gpu;
    return {cells_of(cards.spec(), number_or_nothing(gpu.nominal.value_or(gpu.total.value_or(0)) * cards.count),
                     cards.usable, required_bytes(cards.trial), least_headroom(cards.trial), cards.trial.verdict,
                     gpu.name, gpu.vendor, gpu.kind)};
}

} // namespace

Table gpus_that_hold(const Request& request, Estimator& estimator) {
    const Request anywhere = on_any_device(request);
    Judge judge(anywhere, estimator);
    const Trial trial = judge.attempt(anywhere);
    Table table;
    table.kind = "gpu";
    table.subject = subject_of(request, judge);
    table.subject->n_ctx = trial.estimate.context.n_ctx;
    table.columns = {{"gpu", "GPU"},
                     {"memory", "memory", Unit::gigabytes},
                     {"usable", "usable", Unit::bytes},
                     {"required", "required", Unit::bytes},
                     {"headroom", "headroom", Unit::bytes},
                     {"verdict", "verdict", Unit::verdict},
                     {"name", "name", Unit::none, true},
                     {"vendor", "vendor", Unit::none, true},
                     {"kind", "kind"}};
    if (trial.estimate.refusal) {
        table.legend = "no GPU: " + table.subject->runtime + " refuses these settings: " + *trial.estimate.refusal;
        return table;
    }
    const std::vector<GpuInfo> gpus = all_gpus();
    std::vector<Cards> found;
    for (const GpuInfo& gpu : gpus) {
        if (has_memory(gpu)) try_card(gpu, request, estimator, least_bytes(trial), found);
    }
    std::ranges::stable_sort(found, {}, [](const Cards& cards) { return std::tuple(cards.usable, cards.count); });
    table.rows.reserve(found.size());
    for (const Cards& cards : found) table.rows.push_back(row_of(cards));
    table.legend = found.empty() ? "no GPU of the catalog holds it, nor do two or four of one"
                                 : "required: on all GPUs together; headroom: on the fullest one";
    table.notes.push_back(needed_note(request, trial));
    note_slots(table, request, trial);
    return table;
}

} // namespace vramfit
