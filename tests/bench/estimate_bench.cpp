// How long estimates take: the bars of the project are 2 s on one core for each of the first two.
#include "vramfit/answer/solve.hpp"
#include "vramfit/memory/estimate.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>

using namespace vramfit;

namespace {

std::vector<std::unique_ptr<Estimator>> whole_catalog() {
    std::vector<std::unique_ptr<Estimator>> estimators;
    for (const CatalogEntry& entry : catalog_entries()) {
        if (entry.unsupported.empty()) estimators.push_back(std::make_unique<Estimator>(catalog_model(entry.id)));
    }
    return estimators;
}

/// The `i`th of a series in which no two deployments of a model are the same.
Deployment deployment(std::size_t i) {
    Deployment d;
    d.settings.n_ctx = 1024 + 1024 * (i % 97);
    d.settings.n_ubatch = 128 << (i % 5);
    d.settings.n_seq_max = 1 + i % 4;
    d.settings.kv_unified = i % 3 != 0;
    d.settings.n_outputs_max = d.settings.n_seq_max;
    d.settings.flash_attn = i % 7 == 0 ? FlashAttention::off : FlashAttention::automatic;
    if (i % 11 == 0 && i % 7 != 0) d.settings.type_k = d.settings.type_v = TensorType::q8_0;
    if (i % 13 == 0) d.placement.n_gpu_layers = static_cast<std::int64_t>(1 + i % 30);
    if (i % 17 == 0) d.placement.n_devices = 2;
    d.file_type = file_types[3 + i % 20].type;
    return d;
}

/// 10,000 estimates, all different. Models are made before: that is one cost a model, not one a question.
std::uint64_t ten_thousand(std::vector<std::unique_ptr<Estimator>>& estimators) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < 10000; ++i)
        sum += estimators[i % estimators.size()]->estimate(deployment(i)).host.compute;
    return sum;
}

/// Every model x 20 file types x 8 contexts, as the table of a search for models asks.
std::uint64_t catalog_table(std::vector<std::unique_ptr<Estimator>>& estimators) {
    std::uint64_t sum = 0;
    for (const auto& estimator : estimators) {
        for (std::size_t type = 0; type < 20; ++type) {
            for (std::uint64_t n_ctx = 1024; n_ctx <= 131072; n_ctx *= 2) {
                Deployment d;
                d.file_type = file_types[3 + type].type;
                d.settings.n_ctx = n_ctx;
                d.settings.n_seq_max = 4;
                d.settings.kv_unified = true;
                d.settings.n_outputs_max = 4;
                sum += estimator->estimate(d).devices[0].sum();
            }
        }
    }
    return sum;
}

/// The largest search of all: every model made, each with as many file types as it takes.
std::uint64_t models_that_fit() {
    Request request;
    request.gpus = {"24GB"};
    request.n_ctx = 8192;
    return std::get<Table>(solve(request)).rows.size();
}

std::uint64_t gpus_that_hold() {
    Request request;
    request.model = "qwen3-32b";
    request.quant = "q8_0";
    request.n_ctx = 32768;
    return std::get<Table>(solve(request)).rows.size();
}

template <typename Work>
void print_time(const char* what, double bar, Work work) {
    const std::clock_t start = std::clock(); // of the processor: one core's time, whoever else works on the machine
    const std::uint64_t sum = work();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("%-60s %8.3f s", what, seconds);
    if (bar > 0) std::printf("   bar %.0f s: %s", bar, seconds <= bar ? "held" : "MISSED");
    std::printf("   (checksum %llu)\n", static_cast<unsigned long long>(sum));
    std::fflush(stdout);
}

} // namespace

TEST_CASE("the bars of the library") {
    std::vector<std::unique_ptr<Estimator>> estimators;
    print_time("every catalog model made", 0, [&] {
        estimators = whole_catalog();
        return std::uint64_t{estimators.size()};
    });
    print_time("10,000 different estimates, replay included", 2, [&] { return ten_thousand(estimators); });
    estimators = whole_catalog();
    print_time("catalog x 20 file types x 8 contexts", 2, [&] { return catalog_table(estimators); });
    print_time("models that fit 24 GB, the best quantization of each", 2, [] { return models_that_fit(); });
    print_time("GPUs that hold a model of 60 layers", 0, [] { return gpus_that_hold(); });
}

TEST_CASE("one question in process") {
    for (const char* id : {"llama3.1-8b", "gemma3-12b", "qwen3-next-80b-a3b", "deepseek-v3-671b"}) {
        BENCHMARK(std::string("model and estimate: ") + id) {
            Estimator estimator(catalog_model(id));
            return estimator.estimate(deployment(1)).devices[0].sum();
        };
    }
    Estimator estimator(catalog_model("llama3.1-8b"));
    std::size_t i = 0;
    BENCHMARK("estimate alone: llama3.1-8b") { return estimator.estimate(deployment(i++)).devices[0].sum(); };
}
