#pragma once

#include "buffer_rows.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/model/catalog.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <numeric>

namespace vramfit::test {

/// What an estimate says otherwise than llama.cpp.
struct Difference {
    std::string figure; ///< "compute", "weights", ...
    std::string ours, theirs;
};

/// Bytes by device, the host last, as the rows write them.
template <typename Figure>
std::string by_device(const MemoryEstimate& e, bool with_host, Figure figure) {
    std::string text;
    for (const DeviceMemory& device : e.devices) text += (text.empty() ? "" : " ") + std::to_string(figure(device));
    if (with_host) text += (text.empty() ? "" : " ") + std::to_string(figure(e.host));
    return text;
}

/// The caches, as the rows write them: "full 8192 1 32 K V", "recurrent 4 1 24 R S".
inline std::string memory_text(const std::vector<Cache>& caches) {
    std::string text;
    for (const Cache& cache : caches) {
        if (cache.layers.empty()) // the architecture can keep it, this model does not
            continue;
        if (cache.kind == "ngram") // qwen4exp's second recurrent state: measured in the bytes of the context alone
            continue;
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        for (const CacheLayer& layer : cache.layers) {
            first += cache.recurrent ? layer.r_bytes : layer.k_bytes;
            second += cache.recurrent ? layer.s_bytes : layer.v_bytes;
        }
        text += text.empty() ? "" : ", ";
        if (cache.kind.ends_with("_state")) { // DeepSeek V4's: measured as a whole
            text += cache.kind + " - - - " + std::to_string(first + second) + " 0";
            continue;
        }
        text += cache.kind + ' ' + std::to_string(cache.cells) + ' ' +
                std::to_string(cache.recurrent ? 1 : cache.n_stream) + ' ' + std::to_string(cache.layers.size()) + ' ' +
                std::to_string(first) + ' ' + std::to_string(second);
    }
    return text;
}

/// Every figure of the row that the estimate does not equal.
inline std::vector<Difference> differences(const BufferRow& row, const MemoryEstimate& e) {
    if (e.refusal) return {{"refusal", *e.refusal, "none"}};
    std::vector<Difference> found;
    const auto compare = [&](const char* figure, const std::string& ours, const std::string& theirs) {
        if (ours != theirs) found.push_back({figure, ours, theirs});
    };
    // The host's weights of a real load are the whole mapped file: no allocation.
    const std::size_t n_weights = split(row.weights, " ").size();
    compare("flash_attn", e.flash_attn ? "+" : "-", row.flash_attn);
    compare("compute", by_device(e, true, [](const DeviceMemory& m) { return m.compute; }), row.compute);
    compare("nodes", std::to_string(e.n_nodes), row.nodes);
    compare("splits", std::to_string(e.n_splits), row.splits);
    compare("output", std::to_string(e.host.output), row.output);
    if (!e.devices.empty())
        compare("weights", by_device(e, n_weights > e.devices.size(), [](const DeviceMemory& m) { return m.weights; }),
                row.weights);
    compare("context", by_device(e, true, [](const DeviceMemory& m) { return m.kv_cache + m.recurrent_state; }),
            row.context);
    compare("memory", memory_text(e.caches), row.memory);
    return found;
}

inline bool has(const std::vector<Difference>& found, std::string_view figure) {
    return std::ranges::any_of(found, [&](const Difference& d) { return d.figure == figure; });
}

inline std::string text_of(const std::vector<Difference>& found) {
    std::string text;
    for (const Difference& d : found) text += "\n    " + d.figure + ": " + d.ours + ", measured " + d.theirs;
    return text;
}

/// The largest relative error of the compute buffers.
inline double worst_error(const std::vector<Difference>& found) {
    double worst = 0;
    for (const Difference& d : found) {
        if (d.figure != "compute") continue;
        const auto ours = split(d.ours, " ");
        const auto theirs = split(d.theirs, " ");
        for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
            const double measured = std::max(1.0, std::stod(theirs[i]));
            worst = std::max(worst, std::abs(std::stod(ours[i]) - measured) / measured);
        }
    }
    return worst;
}

/// The largest relative error of what a device holds in all: weights, caches and compute buffer.
inline double worst_total_error(const BufferRow& row, const std::vector<Difference>& found) {
    const std::size_t n_devices = split(row.compute, " ").size() - 1; // the host is the last
    std::vector<double> ours(n_devices);
    std::vector<double> theirs(n_devices);
    const auto add = [&](std::string_view figure, const std::string& measured) {
        const auto different = std::ranges::find(found, figure, &Difference::figure);
        const auto said = split(different == found.end() ? measured : different->ours, " ");
        const auto right = split(measured, " ");
        for (std::size_t i = 0; i < n_devices; ++i) {
            ours[i] += std::stod(said.at(i));
            theirs[i] += std::stod(right.at(i));
        }
    };
    add("weights", row.weights);
    add("context", row.context);
    add("compute", row.compute);
    double worst = 0;
    for (std::size_t i = 0; i < n_devices; ++i)
        worst = std::max(worst, std::abs(ours[i] - theirs[i]) / std::max(1.0, theirs[i]));
    return worst;
}

/// Answers rows; keeps a model's estimator while its rows follow each other.
class RowEstimator {
public:
    MemoryEstimate estimate(const BufferRow& row) {
        if (row.model != model_) {
            estimators_.clear();
            model_ = row.model;
        }
        std::unique_ptr<Estimator>& estimator = estimators_[row.f16];
        if (estimator == nullptr) {
            Model model = catalog_model(row.model);
            if (row.f16) model.file_type = "F16"; // the converter's file: its own types, not llama-quantize's
            estimator = std::make_unique<Estimator>(std::move(model));
        }
        return estimator->estimate(row.deployment);
    }

    std::vector<Difference> differences(const BufferRow& row) {
        try {
            return test::differences(row, estimate(row));
        } catch (const Error& e) {
            return {{"estimate", e.what(), "figures"}};
        }
    }

private:
    std::string model_;
    std::map<bool, std::unique_ptr<Estimator>> estimators_;
};

} // namespace vramfit::test
