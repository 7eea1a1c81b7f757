#include "advisor.hpp"

#include "answer/serving_command.hpp"
#include "answer/serving_devices.hpp"
#include "answer/serving_text.hpp"
#include "vramfit/model/weight_format.hpp"

#include <algorithm>
#include <string>

namespace vramfit {
namespace {

const ServingProfile& engine_of(const Advisor& advisor) { return *advisor.runtime().serving; }

Change change_of(const Advisor& advisor, std::string kind, std::string summary) {
    Change change;
    change.kind = std::move(kind);
    change.summary = std::move(summary);
    change.request = advisor.request();
    return change;
}

/// More of the card, or less where something else has it.
void advise_share(Advisor& advisor) {
    const ServingProfile& engine = engine_of(advisor);
    if (engine.most_share == 0) return;
    const double now = advisor.base().share;
    const double most = std::min(engine.most_share, startable_share(advisor.judge().devices(), advisor.request()));
    const bool lower = advisor.base().verdict == Verdict::refused && most < now;
    if (most <= 0 || (most <= now && !lower)) return;
    Change change = change_of(advisor, "memory_share",
                              share_text(most) + " of the GPU instead of " + share_text(now) +
                                  (lower ? ", as the rest is in use" : ""));
    change.set = {{"memory_share", share_text(most)}};
    change.flags = serving_flags(advisor.runtime(), "memory_share", share_text(most));
    change.request.memory_share = most;
    advisor.consider(change);
}

/// Whole layers a GPU, where the heads do not divide.
void advise_layers(Advisor& advisor) {
    const bool tensor = engine_of(advisor).parallel == ServingProfile::Parallel::tensor;
    if (!tensor || advisor.judge().devices().size() < 2 || advisor.request().split_mode == SplitMode::layer) return;
    Change change = change_of(advisor, "split_mode", "whole layers on each GPU");
    change.set = {{"split_mode", std::string("layer")}};
    change.flags =
        serving_flags(advisor.runtime(), "layers_parallel", std::to_string(advisor.judge().devices().size()));
    change.request.split_mode = SplitMode::layer;
    if (change.request.tensor_parallel) {
        change.request.layers_parallel = advisor.judge().devices().size();
        change.request.tensor_parallel = 1;
    }
    advisor.consider(change);
}

void advise_cache_dtype(Advisor& advisor) {
    const ServingProfile& engine = engine_of(advisor);
    const std::uint64_t now = advisor.base().deployment.cache_bytes;
    for (const CacheDtype& dtype : engine.dtypes) {
        if (dtype.element_bytes >= now) continue;
        Change change = change_of(advisor, "cache_type", "the KV cache in " + dtype.name + " (some loss of quality)");
        change.set = {{"cache_type_k", dtype.name}, {"cache_type_v", dtype.name}};
        change.flags = serving_flags(advisor.runtime(), "cache_dtype", dtype.name);
        change.request.cache_dtype = dtype.name;
        change.request.type_k.reset();
        change.request.type_v.reset();
        advisor.consider(change);
        return;
    }
}

void advise_shorter(Advisor& advisor) {
    const std::uint64_t asked = advisor.base().estimate.context.n_ctx;
    const MaxContext& max = advisor.max_ctx();
    const std::uint64_t best = max.fit > 0 ? max.fit : max.tight;
    if (best == 0 || best >= asked) return;
    Change change =
        change_of(advisor, "ctx", "a context of " + std::to_string(best) + " instead of " + std::to_string(asked));
    change.set = {{"n_ctx", best}};
    change.flags = serving_flags(advisor.runtime(), "n_ctx", std::to_string(best));
    change.request.n_ctx = best;
    advisor.consider(change);
}

/// What the model was trained for, where more is refused.
void advise_trained(Advisor& advisor) {
    const std::uint64_t trained = advisor.model().n_ctx_train();
    const std::uint64_t asked = advisor.request().n_ctx.value_or(0);
    if (trained == 0 || asked <= trained) return;
    Change change = change_of(advisor, "ctx", "the context of " + std::to_string(trained) + " that it was trained for");
    change.set = {{"n_ctx", trained}};
    change.flags = serving_flags(advisor.runtime(), "n_ctx", std::to_string(trained));
    change.request.n_ctx = trained;
    advisor.consider(change);
}

void advise_formats(Advisor& advisor) {
    std::uint64_t last = advisor.base().estimate.tensor_bytes;
    for (const std::string& id : engine_of(advisor).advised) {
        const std::uint64_t bytes = checkpoint_bytes(advisor.model(), find_weight_format(id), false);
        if (bytes >= last) continue;
        Change change = change_of(advisor, "quant", "weights in " + id);
        change.set = {{"quant", id}};
        change.flags = format_flags(advisor.runtime(), id);
        change.request.quant = id;
        if (advisor.consider(change) == Verdict::fit) return;
        last = bytes;
    }
}

/// The GPUs that are given and not used.
void advise_given_devices(Advisor& advisor) {
    const std::size_t given = requested_devices(advisor.request()).size();
    if (given <= advisor.judge().devices().size()) return;
    Change change = change_of(advisor, "gpu",
                              "all " + std::to_string(given) + " GPUs instead of " +
                                  std::to_string(advisor.judge().devices().size()));
    change.set = {{"tensor_parallel", std::uint64_t{given}}};
    change.flags = serving_flags(advisor.runtime(), "tensor_parallel", std::to_string(given));
    change.request.tensor_parallel = given;
    change.request.layers_parallel.reset();
    Judge judge(change.request, advisor.judge().estimator());
    const Trial trial = judge.attempt(change.request);
    if (advisor.helps(trial.verdict)) advisor.keep(change, trial, judge);
}

/// Twice, four times as many of the same GPU.
void advise_devices(Advisor& advisor) {
    if (engine_of(advisor).parallel == ServingProfile::Parallel::none || advisor.request().gpus.size() != 1) return;
    const std::vector<Device>& devices = advisor.judge().devices();
    if (requested_devices(advisor.request()).size() > devices.size()) return; // those come first
    const std::string& name = devices.front().name;
    const bool measured = std::ranges::any_of(devices, [](const Device& d) { return d.free.has_value(); });
    if (measured || std::ranges::any_of(devices, [&](const Device& d) { return d.name != name; })) return;
    for (const std::size_t factor : {2U, 4U}) {
        const std::string n = std::to_string(devices.size() * factor);
        if (devices.size() * factor > max_devices) return;
        Change change = change_of(advisor, "gpu", n + " GPUs of that kind");
        change.set = {{"gpu", n + "x" + name}};
        const bool tensor = engine_of(advisor).parallel == ServingProfile::Parallel::tensor;
        change.flags = serving_flags(advisor.runtime(), tensor ? "tensor_parallel" : "layers_parallel", n);
        change.request.gpus = {n + "x" + name};
        change.request.tensor_parallel.reset(); // all of them
        change.request.layers_parallel.reset();
        // Another judge: the devices are not those of this one.
        Judge judge(change.request, advisor.judge().estimator());
        const Trial trial = judge.attempt(change.request);
        if (!advisor.helps(trial.verdict)) continue;
        advisor.keep(change, trial, judge);
        return;
    }
}

} // namespace

void advise_serving(Advisor& advisor) {
    advise_share(advisor);
    if (advisor.base().verdict == Verdict::refused) {
        advise_trained(advisor);
        advise_layers(advisor);
    } else {
        advise_cache_dtype(advisor);
        advise_shorter(advisor);
        advise_given_devices(advisor);
        advise_formats(advisor);
        advise_devices(advisor);
    }
}

} // namespace vramfit
