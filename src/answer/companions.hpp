#pragma once

#include "vramfit/answer/companions.hpp"
#include "vramfit/answer/request.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/memory/projector.hpp"
#include "vramfit/memory/runtime.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vramfit {

/// Is `name` a file, by its ending, a slash or because it exists? Else it is a name of the catalog.
bool names_a_file(const std::string& name);

/// What is loaded beside a model in a deployment. Its bytes were added to the estimate's devices and host.
struct CompanionMemory {
    std::optional<ProjectorAnswer> projector;
    std::optional<DraftAnswer> draft;
    std::vector<AdapterAnswer> adapters;
    std::vector<std::uint64_t> errors; ///< by device: bytes by which they may be more
    std::vector<std::string> notes;
};

/// Adds projector, draft model and LoRA adapters to estimates of one model. What a request names is read once, however
/// many variants of the request are tried.
class Companions {
public:
    Companions(Estimator& target, const RuntimeProfile& runtime) : target_(target), runtime_(runtime) {}

    /// Throws Error for a file that cannot be read or is something else, an unknown name, an adapter of another model.
    CompanionMemory add(const Request& request, const Deployment& deployment, MemoryEstimate& estimate);

private:
    void add_projector(const Request& request, MemoryEstimate& estimate, CompanionMemory& memory);
    void add_draft(const Request& request, const Deployment& deployment, MemoryEstimate& estimate,
                   CompanionMemory& memory);
    void add_mtp(const Deployment& deployment, MemoryEstimate& estimate, CompanionMemory& memory);
    void add_adapters(const Request& request, const Deployment& deployment, MemoryEstimate& estimate,
                      CompanionMemory& memory);
    const Projector& projector(const Request& request);
    Estimator& draft(const Request& request);

    Estimator& target_;
    const RuntimeProfile& runtime_;
    std::map<std::string, Projector> projectors_;
    std::map<std::string, std::unique_ptr<Estimator>> drafts_;
    std::map<std::string, GgufHeader> adapters_;
};

} // namespace vramfit
