#include "vramfit/memory/serving.hpp"

#include "catch.hpp"
#include "support/data_file.hpp"
#include "support/near.hpp"
#include "vramfit/memory/runtime.hpp"
#include "vramfit/model/catalog.hpp"

#include <nlohmann/json.hpp>

using namespace vramfit;
using nlohmann::json;

namespace {

constexpr double gib_bytes = 1024.0 * 1024 * 1024;

std::vector<json> rows_of(const std::string& file) {
    std::vector<json> rows;
    for (const std::string& line : test::read_lines(std::string(VRAMFIT_TEST_DATA) + "/serving/" + file))
        rows.push_back(json::parse(line));
    return rows;
}

Deployment deployment_of(const json& row) {
    Deployment d;
    d.weight_format = row.value("format", "bf16");
    d.cache_bytes = row.value("cache_bytes", 2);
    d.settings.n_ctx = row.value("n_ctx", 4096);
    d.settings.n_batch = row.value("n_batch", 2048);
    d.settings.n_seq_max = row.value("n_seqs", 256);
    d.placement.n_devices = row.value("n_devices", 1U);
    d.placement.split_mode = SplitMode::row;
    return d;
}

std::uint64_t bytes_of(double gib) { return static_cast<std::uint64_t>(gib * gib_bytes); }

ServingProfile vllm() { return *find_runtime("vllm").serving; }

} // namespace

TEST_CASE("vLLM's logs: blocks, tokens, concurrency and length follow from the memory that was left") {
    for (const json& row : rows_of("vllm_caches.jsonl")) {
        INFO(row.dump());
        ServingProfile profile = vllm();
        profile.cache.hybrid = row.value("hybrid", true);
        const Model model = catalog_model(row.at("model").get<std::string>());
        const ServingEstimator serving(model, profile);
        const Deployment d = deployment_of(row);
        const ServingCache cache = serving.cache(d, 0);
        const std::uint64_t n_ctx = d.settings.n_ctx;
        const std::uint64_t n_batch = d.settings.n_batch;
        if (row.contains("held_blocks")) {
            const std::uint64_t bytes = row["held_blocks"].get<std::uint64_t>() * cache.block_bytes();
            CHECK(test::near(cache.concurrency(bytes, n_ctx, n_batch), row["concurrency"].get<double>(), 0.005));
        }
        if (row.contains("needed_gib"))
            CHECK(test::near(static_cast<double>(cache.request(n_ctx, n_batch).kv_cache) / gib_bytes,
                             row["needed_gib"].get<double>(), row["id"] == "vl-019" ? 0.05 : 0.005));
        if (!row.contains("available_gib")) continue;
        // The log has two digits: the true figure lies within half of the last one.
        const double available = row["available_gib"];
        const std::uint64_t least = bytes_of(available - 0.005);
        const std::uint64_t most = bytes_of(available + 0.005);
        const bool agrees = !row.contains("disagrees");
        const auto holds = [&](std::uint64_t low, std::uint64_t logged, std::uint64_t high) {
            if (agrees) {
                CHECK(low <= logged);
                CHECK(logged <= high);
            } else { // by the reason that the row gives, and by no more than two per cent
                CHECK(logged < low);
                CHECK(static_cast<double>(logged) > 0.98 * static_cast<double>(low));
            }
        };
        if (row.contains("blocks"))
            holds(least / cache.block_bytes(), row["blocks"].get<std::uint64_t>(), most / cache.block_bytes());
        if (row.contains("tokens")) holds(cache.tokens(least), row["tokens"].get<std::uint64_t>(), cache.tokens(most));
        if (row.contains("longest"))
            holds(cache.tokens(least), row["longest"].get<std::uint64_t>(), cache.tokens(most));
        if (row.contains("concurrency") && agrees) {
            CHECK(cache.concurrency(least, n_ctx, n_batch) <= row["concurrency"].get<double>() + 0.005);
            CHECK(cache.concurrency(most, n_ctx, n_batch) >= row["concurrency"].get<double>() - 0.005);
        }
    }
}

TEST_CASE("vLLM's logs: the weights of a device") {
    const ServingProfile profile = vllm();
    for (const json& row : rows_of("weights.jsonl")) {
        INFO(row.dump());
        const Model model = catalog_model(row.at("model").get<std::string>());
        const ServingEstimator serving(model, profile);
        const MemoryEstimate e = serving.estimate(deployment_of(row));
        const double gib = row["gib"];
        CHECK(test::near(static_cast<double>(e.devices.front().weights) / gib_bytes, gib,
                         gib * row["off"].get<double>()));
        CHECK(e.weights_basis == Basis::modelled);
    }
}

TEST_CASE("vLLM's activation peak is the sampler's trial run: a row of logits a sequence") {
    // llm-d-benchmark on H100: 1024 sequences, 8192 tokens a batch. GiB as logged.
    const ServingProfile profile = vllm();
    const struct {
        const char* model;
        const char* format;
        std::uint32_t n_devices;
        std::uint64_t n_seqs, n_batch;
        double gib;
    } logged[] = {{"llama3.1-8b", "bf16", 1, 1024, 8192, 4.76},  {"qwen3-0.6b", "bf16", 1, 1024, 8192, 5.56},
                  {"qwen3-32b", "bf16", 1, 1024, 8192, 5.64},    {"llama3.3-70b", "fp8", 2, 1024, 8192, 4.84},
                  {"gpt-oss-20b", "mxfp4", 1, 1024, 8192, 7.38}, {"qwen2.5-7b", "bf16", 1, 256, 4096, 1.42}};
    for (const auto& row : logged) {
        INFO(row.model);
        Deployment d = deployment_of({{"format", row.format}, {"n_devices", row.n_devices}});
        d.settings.n_seq_max = row.n_seqs;
        d.settings.n_batch = row.n_batch;
        const Model model = catalog_model(row.model);
        const MemoryEstimate e = ServingEstimator(model, profile).estimate(d);
        const double error = static_cast<double>(e.compute_error) / gib_bytes;
        CHECK(test::near(static_cast<double>(e.devices.front().compute) / gib_bytes, row.gib, (row.gib) * 0.01));
        CHECK(error > 0.09 * row.gib);
    }
}

TEST_CASE("whole layers on each device: embeddings first, the output matrix last, what is left over in the middle") {
    const ServingProfile profile = vllm();
    const Model model = catalog_model("llama3.1-8b");
    const ServingEstimator serving(model, profile);
    Deployment d = deployment_of({{"n_devices", 3}, {"n_ctx", 8192}});
    d.placement.split_mode = SplitMode::layer;
    const MemoryEstimate e = serving.estimate(d);
    CHECK_FALSE(e.refusal);
    // 32 layers: 11, 11, 10, as vLLM (get_pp_indices) gives what is left over to the last but one, and backwards.
    // A layer has 218112000 weights (4096 x (2 x 4096 + 2 x 1024 + 3 x 14336) + 2 x 4096), 2 bytes each; embeddings and output
    // matrix 128256 x 4096; the rope table 131072 x 128 x 2 bytes = 32 MiB on each device.
    constexpr std::uint64_t layer = 218112000ULL * 2, matrix = 128256ULL * 4096 * 2, table = 33554432;
    CHECK(e.devices[0].weights == 11 * layer + matrix + table);
    CHECK(e.devices[1].weights == 11 * layer + table);
    CHECK(e.devices[2].weights == 10 * layer + matrix + 4096 * 2 + table);
    CHECK(e.devices[0].kv_cache == 11ULL * 4096 * 8192);
    CHECK(e.devices[2].kv_cache == 10ULL * 4096 * 8192);
    CHECK(serving.kv_bytes_per_token(d) == 131072);
}

TEST_CASE("tensor parallel: heads must divide, and a head is the least that a device caches") {
    const ServingProfile profile = vllm();
    const Model model = catalog_model("llama3.1-8b");
    const ServingEstimator serving(model, profile);
    CHECK(serving.estimate(deployment_of({{"n_devices", 3}})).refusal ==
          "Total number of attention heads (32) must be divisible by tensor parallel size (3).");
    // 8 heads: 2 devices have 4 each, 16 have one each, twice over.
    CHECK(serving.estimate(deployment_of({{"n_devices", 2}})).devices[1].kv_cache == 4096ULL * 65536);
    CHECK(serving.estimate(deployment_of({{"n_devices", 16}})).devices[0].kv_cache == 4096ULL * 16384);
    // MLA keeps one latent for all heads: on every device the same.
    const Model deepseek = catalog_model("deepseek-v3-671b");
    const ServingEstimator mla(deepseek, profile);
    CHECK(mla.estimate(deployment_of({{"n_devices", 8}})).devices[0].kv_cache == 61ULL * 576 * 2 * 4096);
}

TEST_CASE("every model of the catalog has an estimate with every engine") {
    for (const char* runtime : {"vllm", "sglang", "transformers", "mlx"}) {
        const ServingProfile profile = *find_runtime(runtime).serving;
        for (const CatalogEntry& entry : catalog_entries()) {
            if (!entry.unsupported.empty()) continue;
            INFO(runtime << " " << entry.id);
            const Model model = catalog_model(entry.id);
            // Embedding models that are no language models are read in one go, and the longest of them has 512 tokens.
            const MemoryEstimate e = ServingEstimator(model, profile).estimate(deployment_of({{"n_ctx", 512}}));
            const bool caches = model.hparams.get("attention.causal", 1) != 0;
            CHECK(e.devices.front().weights > 0);
            CHECK((e.devices.front().kv_cache + e.devices.front().recurrent_state > 0) == caches);
        }
    }
}
