#pragma once

#include "vramfit/memory/estimate.hpp"
#include "vramfit/memory/serving_profile.hpp"
#include "vramfit/model/weight_format.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vramfit {

/// Estimates deployments of one model with an engine that is not llama.cpp: weights of a checkpoint, caches by the
/// engine's rule, the peak of activations. Weights and activations are `modelled`; what the process takes beside is
/// `typical` and not counted here (see the profile). Not for several threads at once.
class ServingEstimator {
public:
    /// `model` and `profile` must outlive the estimator.
    ServingEstimator(const Model& model, const ServingProfile& profile);

    /// Of Deployment it needs `weight_format`, `cache_bytes`, the settings n_ctx, n_batch and n_seq_max, and of the placement the number of
    /// devices and the split mode (`layer`: whole layers; else as the profile has it). Throws Error for a context that
    /// cannot be.
    MemoryEstimate estimate(const Deployment& deployment) const;

    /// Bytes by which all caches together grow with a token, once they are long.
    std::uint64_t kv_bytes_per_token(const Deployment& deployment) const;

    /// How the caches of a device are kept.
    ServingCache cache(const Deployment& deployment, std::uint32_t device) const;

private:
    /// What a layer keeps, as one device alone would keep it.
    struct Layer {
        LayerCache::Kind kind = LayerCache::Kind::full;
        std::uint64_t width = 0;   ///< elements a token
        std::uint64_t n_heads = 0; ///< that the width is made of; 0: it cannot be divided (a latent)
        std::uint64_t window = 0;
        std::uint64_t conv = 0, state = 0; ///< elements
    };
    void read_layers();
    bool by_layers(const Deployment& deployment) const;
    std::pair<std::uint32_t, std::uint32_t> layers_on(const Deployment& deployment, std::uint32_t device) const;
    std::vector<LayerCache> layer_caches(const Deployment& deployment, std::uint32_t device) const;
    std::uint64_t weights_on(const Deployment& deployment, const WeightFormat& format, std::uint32_t device) const;
    std::uint64_t activations(const Deployment& deployment, std::uint64_t weights, bool with_logits) const;
    std::optional<std::string> refusal(const Deployment& deployment) const;
    std::vector<Cache> shown_caches(const Deployment& deployment) const;

    const Model& model_;
    const ServingProfile& profile_;
    std::map<std::uint32_t, std::vector<Layer>> layers_; ///< by block; a block may keep several
    std::uint64_t n_head_ = 0, n_embd_ = 0, n_ff_ = 0, n_vocab_ = 0, n_rot_ = 0;
};

} // namespace vramfit
