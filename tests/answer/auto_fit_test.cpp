#include "answer/auto_fit.hpp"
#include "answer/auto_fit_layers.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <numeric>
#include <random>

using namespace vramfit;

// The measured figures are from whole logs of llama-server v0.4.0 in which --fit says what it tries and what it takes.

namespace {

/// llama-server's defaults: four slots that share one cache.
Deployment server(FileType type, std::uint64_t n_ctx, std::uint32_t n_devices = 1) {
    Deployment d;
    d.file_type = type;
    d.settings.n_ctx = n_ctx;
    d.settings.n_seq_max = d.settings.n_outputs_max = 4;
    d.settings.kv_unified = true;
    d.placement.n_devices = n_devices;
    return d;
}

/// A model on devices with so many MiB free, and what --fit tries on the way.
class Fitter {
public:
    Fitter(const char* model, std::vector<std::uint64_t> free_mib) : estimator_(catalog_model(model)) {
        for (const std::uint64_t free : free_mib) {
            limits.free.push_back(free * mib);
            limits.margins.push_back(gib);
        }
    }

    AutoFit fit(Deployment d) {
        tried.clear();
        const bool fixed_ctx = d.settings.n_ctx > 0;
        if (d.placement.n_devices > 1) d.placement.tensor_split.assign(limits.free.begin(), limits.free.end());
        return auto_fit(estimator_.model(), d, fixed_ctx, limits, [&](const Deployment& trial) {
            tried.push_back(trial);
            return project(trial);
        });
    }

    std::vector<Projected> project(Deployment d) {
        d.placement.no_alloc = true;
        std::vector<Projected> devices;
        for (const DeviceMemory& device : estimator_.estimate(d).devices)
            devices.push_back({device.weights, device.sum()});
        return devices;
    }
    /// As the logs have them: whole MiB.
    std::vector<std::uint64_t> used_mib(const Deployment& d) {
        std::vector<std::uint64_t> used;
        for (const Projected& device : project(d)) used.push_back(device.sum / mib);
        return used;
    }
    bool leaves_margins(const Deployment& d) {
        const std::vector<Projected> used = project(d);
        for (std::size_t i = 0; i < used.size(); ++i)
            if (used[i].sum + limits.margins[i] > limits.free[i]) return false;
        return true;
    }
    const Model& model() const { return estimator_.model(); }

    FitLimits limits;
    std::vector<Deployment> tried;

private:
    Estimator estimator_;
};

using Mib = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("auto: what leaves its margin stays as it is, with the context that the model was trained for", "[auto]") {
    Fitter f("llama3.1-8b", {24052});
    const AutoFit fit = f.fit(server(FileType::q4_k_m, 0));
    CHECK(fit.deployment.settings.n_ctx == 131072);
    CHECK_FALSE(fit.context_reduced);
    CHECK_FALSE(fit.placed);
    CHECK(f.used_mib(fit.deployment) == Mib{21023});
    CHECK(f.tried.size() == 1);
}

TEST_CASE("auto: a context that nobody gave shrinks until one device has room", "[auto]") {
    Fitter f("qwen3-32b", {24052});
    const AutoFit fit = f.fit(server(FileType::q4_k_m, 0));
    CHECK(fit.deployment.settings.n_ctx == 17408);
    CHECK(fit.context_reduced);
    CHECK_FALSE(fit.placed);
    REQUIRE(f.tried.size() == 2);
    CHECK(f.used_mib(f.tried[0]) == Mib{28889}); // at 40960
    CHECK(f.used_mib(f.tried[1]) == Mib{19637}); // at 4096
    CHECK(f.used_mib(fit.deployment) == Mib{22978});
}

TEST_CASE("auto: two devices with room stay as they are, and a plan takes more than a load", "[auto]") {
    Fitter f("llama3.3-70b", {24052, 24052});
    const AutoFit fit = f.fit(server(FileType::q4_k_m, 8192, 2));
    CHECK_FALSE(fit.placed);
    CHECK(f.used_mib(fit.deployment) == Mib{21662, 21564}); // a load takes 21500 MiB of the second
    Fitter unequal("qwen3-32b", {24052, 11770});
    const AutoFit split = unequal.fit(server(FileType::q4_k_m, 16384, 2));
    CHECK_FALSE(split.placed);
    CHECK(unequal.used_mib(split.deployment) == Mib{15286, 7852});
}

TEST_CASE("auto: experts stay on the host, and come back from the front while there is room", "[auto]") {
    Fitter f("qwen3-30b-a3b", {11776});
    const AutoFit fit = f.fit(server(FileType::q4_k_m, 16384));
    CHECK(fit.placed);
    CHECK_FALSE(fit.context_reduced);
    // The log's trials: everything, all experts on the host, nothing, layers (in all, without experts) 49 and 48,
    // 49 and 0, 49 and 25, 49 and 26, then 49 and 26 with a part of the first, without ffn_down and ffn_gate, and
    // without ffn_down.
    const Mib measured{19160, 2553, 266, 2919, 19160, 10916, 10542, 10661, 10782};
    Mib mib;
    for (const Deployment& trial : f.tried) mib.push_back(f.used_mib(trial)[0]);
    CHECK(mib == measured);

    const PlacementRequest& p = fit.deployment.placement;
    CHECK(p.n_gpu_layers == 49);
    CHECK(p.tensor_split.empty());
    REQUIRE(p.parts.size() == 26);
    CHECK(p.parts[0] == PartOverride{23, LayerPart::down_and_gate, host_device});
    for (std::uint32_t i = 1; i < 26; ++i) CHECK(p.parts[i] == PartOverride{23 + i, LayerPart::experts, host_device});
    CHECK(f.used_mib(fit.deployment) == Mib{10661});
}

namespace {

/// Layers by device, of a placement on one device or with a split.
std::vector<std::uint32_t> layers_by_device(const PlacementRequest& p) {
    if (p.n_devices == 1) return {static_cast<std::uint32_t>(p.n_gpu_layers)};
    std::vector<std::uint32_t> layers(p.n_devices);
    for (std::size_t i = 0; i < p.tensor_split.size(); ++i) layers[i] = static_cast<std::uint32_t>(p.tensor_split[i]);
    return layers;
}

bool exceeds(Fitter& f, const Deployment& d, std::size_t device) {
    return f.project(d)[device].sum + f.limits.margins[device] > f.limits.free[device];
}

/// A random question whose model is larger than the devices.
struct Draw {
    Deployment deployment;
    std::vector<std::uint64_t> free_mib;
};

Draw draw(std::mt19937& random, const char* model) {
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const FileType type = std::array{FileType::q4_k_m, FileType::q8_0, FileType::iq4_xs}[below(3)];
    Draw draw{server(type, 2048U << below(4), 1 + below(3)), {}};
    Estimator estimator(catalog_model(model));
    const std::uint64_t weights = estimator.tensor_bytes(type, true) / mib;
    for (std::uint32_t i = 0; i < draw.deployment.placement.n_devices; ++i)
        draw.free_mib.push_back(1024 + weights * (20 + below(70)) / 100 / draw.deployment.placement.n_devices);
    return draw;
}

} // namespace

TEST_CASE("auto: what it places leaves the margins, and one layer more does not", "[auto]") {
    std::mt19937 random(4);
    for (const char* model : {"llama3.1-8b", "qwen3-14b", "gemma3-12b", "qwen3-30b-a3b", "gpt-oss-20b"}) {
        for (int i = 0; i < 4; ++i) {
            const Draw question = draw(random, model);
            Fitter f(model, question.free_mib);
            const AutoFit fit = f.fit(question.deployment);
            const PlacementRequest& p = fit.deployment.placement;
            CAPTURE(model, i, question.free_mib, p.n_devices, p.n_gpu_layers, p.tensor_split, p.parts.size());
            CAPTURE(f.used_mib(fit.deployment));
            REQUIRE(fit.placed);
            CHECK(f.leaves_margins(fit.deployment));
            if (p.parts.empty()) {
                const std::uint32_t n_layer = countable_layers(f.model(), fit.deployment.settings);
                if (p.n_gpu_layers > n_layer) continue;
                std::vector<DeviceLayers> more;
                for (const std::uint32_t n : layers_by_device(p)) more.push_back({.n_layer = n});
                ++more[0].n_layer;
                Deployment d = fit.deployment;
                d.placement = placement_of(more, n_layer, d.placement);
                CHECK(exceeds(f, d, 0));
            } else {
                Deployment d = fit.deployment;
                d.placement.parts.erase(d.placement.parts.begin());
                CHECK_FALSE(f.leaves_margins(d));
            }
        }
    }
}
