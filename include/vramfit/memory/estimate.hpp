#pragma once

#include "vramfit/base/bytes.hpp"
#include "vramfit/memory/compute.hpp"
#include "vramfit/model/file_type.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vramfit {

/// How well a figure is known.
enum class Basis : std::uint8_t {
    exact,    ///< the allocation rule is known, and measured equal
    modelled, ///< a formula with a known error
    typical,  ///< a published typical value
};

/// A model to be run: its file type, the context's settings, and which layers go where.
struct Deployment {
    FileType file_type = FileType::q4_k_m; ///< of a catalog model; a file holds what it holds
    bool imatrix = true;                   ///< quantized with an importance matrix
    Settings settings;
    PlacementRequest placement;
};

/// Bytes on one device, by what they are for.
struct DeviceMemory {
    std::uint64_t weights = 0;
    std::uint64_t kv_cache = 0;
    std::uint64_t recurrent_state = 0;
    std::uint64_t compute = 0;
    std::uint64_t adapters = 0;  ///< LoRA adapters
    std::uint64_t projector = 0; ///< of images or sound, with its own compute buffer
    std::uint64_t draft = 0;     ///< the draft model with its cache and compute buffer

    /// Throws Error where that is more than 64 bits hold.
    std::uint64_t sum() const {
        std::uint64_t sum = weights;
        for (const std::uint64_t part : {kv_cache, recurrent_state, compute, adapters, projector, draft})
            sum = checked_add(sum, part, "the memory of a device");
        return sum;
    }
};

/// Bytes in the computer's own memory.
struct HostMemory : DeviceMemory {
    std::uint64_t output = 0; ///< the buffer that logits and embeddings are read from

    std::uint64_t total() const { return checked_add(sum(), output, "the computer's memory"); }
};

/// What a deployment takes, byte by byte.
struct MemoryEstimate {
    /// llama.cpp would not start: why, in its own words. Sizes are then what it would have taken, where known.
    std::optional<std::string> refusal;
    ContextPlan context;
    bool flash_attn = false; ///< in effect
    std::vector<DeviceMemory> devices;
    HostMemory host;
    std::vector<Cache> caches;
    std::uint64_t tensor_bytes = 0; ///< of the file's tensors: neither header nor padding
    std::uint64_t n_nodes = 0;      ///< of the prompt graph
    std::uint32_t n_splits = 0;
    Basis weights_basis = Basis::exact;
    Basis kv_basis = Basis::exact; ///< of the KV cache and the recurrent state
    Basis compute_basis = Basis::exact;
    std::uint64_t compute_error = 0; ///< bytes by which the compute buffer of a device may be larger; 0 where exact

    /// The memory of a device, or of the host.
    DeviceMemory& at(std::int32_t device) {
        return device == host_device ? host : devices[static_cast<std::size_t>(device)];
    }
};

/// Estimates deployments of one model. Keeps what they share (symbols, layer kinds, tensor types), so that asking for
/// many contexts or file types of a model is cheap. Not for several threads at once.
class Estimator {
public:
    explicit Estimator(Model model);
    Estimator(const Estimator&) = delete; // its parts point at each other
    Estimator& operator=(const Estimator&) = delete;

    const Model& model() const { return *model_; }

    /// Throws Error for settings that make no context (no tokens, sizes beyond counting).
    MemoryEstimate estimate(const Deployment& deployment);

    /// Exact sum of the tensor data of a file of that type.
    std::uint64_t tensor_bytes(FileType file_type, bool imatrix);
    /// Why llama-quantize would not make such a file (it wants an importance matrix), or nothing.
    std::optional<std::string> quant_refusal(FileType file_type, bool imatrix);

    /// Does an override's pattern match any tensor of the model?
    bool matches_any(const std::string& pattern) { return patterns_.any(pattern); }

    /// The caches of a deployment by themselves: the model's tensors and its file type do not matter to them.
    std::vector<Cache> caches(const Deployment& deployment);

    /// Bytes by which all caches together grow with every token of context, at the settings' context.
    std::uint64_t kv_bytes_per_token(const Deployment& deployment);

private:
    struct Weights {
        std::vector<TensorType> types;
        std::uint64_t tensor_bytes = 0;
        std::optional<std::string> refused;
    };
    const Weights& weights(FileType file_type, bool imatrix);
    std::set<std::int32_t> devices_of_shared(const Tensor& tensor, const Placement& placement);
    /// Where a deployment's weights lie.
    struct Placed {
        FileType file_type;
        bool imatrix, mtp;
        PlacementRequest request;
        Placement placement;
        std::vector<DeviceMemory> devices;
        DeviceMemory host;
        std::uint64_t n_split = 0; ///< matrices whose rows are split: on a device as many allocations
    };
    /// What a deployment's context takes.
    struct Planned {
        Settings settings;
        PlacementRequest request;
        FileType file_type;
        bool imatrix;
        ContextPlan context;
        std::vector<Cache> caches;
        ComputePlan compute;
        std::optional<std::string> refusal;
    };
    const Placed& placed(const Deployment& deployment);
    const Planned& planned(const Deployment& deployment, const Placement& placement);
    void place_weights(const Weights& weights, Placed& placed);
    bool add_rows(std::size_t tensor, TensorType type, Placed& placed) const;
    std::uint64_t output_bytes(const Settings& settings, const ContextPlan& context);
    void place_caches(MemoryEstimate& estimate) const;
    std::vector<Cache> caches(const Settings& settings, const ContextPlan& context, const Placement& placement);

    std::unique_ptr<const Model> model_;
    TensorPatterns patterns_;
    Evaluator eval_;
    ComputePlanner planner_;
    std::map<std::pair<FileType, bool>, Weights> weights_;
    std::vector<Placed> placed_;   ///< the latest questions, the oldest first
    std::vector<Planned> planned_; ///< likewise
};

} // namespace vramfit
