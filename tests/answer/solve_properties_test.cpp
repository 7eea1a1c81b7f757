// Tables agree with single answers, whatever the deployment.
#include "ask.hpp"

#include "vramfit/answer/solve.hpp"

#include "catch.hpp"

#include <array>
#include <random>

using namespace vramfit;
using namespace vramfit::test;

namespace {

/// Of every kind: dense, window, MLA, recurrent, hybrid, mixture of experts.
constexpr std::array models{"llama3.1-8b",  "gemma3-4b",     "deepseek-v2-lite", "mamba-2.8b",
                            "falcon-h1-7b", "qwen3-30b-a3b", "gpt-oss-20b",      "qwen3-0.6b"};
constexpr std::array gpus{"4GB", "8GB", "12GB", "rtx3090", "2x16GB", "m3-max-64gb"};

/// A random choice; the seed is fixed, so that a failure can be repeated.
class Dice {
public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    std::size_t below(std::size_t n) { return engine_() % n; }
    template <typename Values>
    auto of(const Values& values) {
        return values[below(values.size())];
    }
    bool one_in(std::size_t n) { return below(n) == 0; }

private:
    std::mt19937 engine_; // the same everywhere, unlike the distributions
};

Request random_request(Dice& dice) {
    Request request;
    request.model = dice.of(models);
    request.gpus = {dice.of(gpus)};
    if (dice.one_in(3)) request.parallel = 1 + dice.below(4);
    if (dice.one_in(4)) request.kv_unified = dice.one_in(2);
    if (dice.one_in(3)) request.n_ubatch = 128U << dice.below(4);
    if (dice.one_in(4)) request.type_k = request.type_v = dice.one_in(2) ? TensorType::q8_0 : TensorType::q4_0;
    if (dice.one_in(6)) request.flash_attn = FlashAttention::off;
    if (dice.one_in(5)) request.n_gpu_layers = static_cast<std::int64_t>(dice.below(40));
    if (dice.one_in(5)) request.n_cpu_moe = static_cast<std::uint32_t>(dice.below(30));
    if (dice.one_in(5)) request.margin = dice.below(3) * 512 * 1024 * 1024;
    return request;
}

std::string described(const Request& r) {
    return r.model + " on " + r.gpus[0] + " np " + std::to_string(r.parallel.value_or(0)) + " ub " +
           std::to_string(r.n_ubatch.value_or(0)) + " ngl " + std::to_string(r.n_gpu_layers.value_or(-1));
}

} // namespace

TEST_CASE("quantization against context: every cell is an answer") {
    Dice dice(1);
    for (int round = 0; round < 40; ++round) {
        const Request request = random_request(dice);
        const Table table = std::get<Table>(solve(request));
        INFO(round << ": " << described(request));
        REQUIRE(!table.rows.empty());
        const TableRow& row = table.rows[dice.below(table.rows.size())];
        const std::size_t c = 1 + dice.below(table.columns.size() - 2); // neither the name nor the largest context
        Request single = request;
        single.quant = std::get<std::string>(row.cells[0]);
        single.n_ctx = std::stoull(table.columns[c].heading);
        const Answer a = answer(single);
        INFO(*single.quant << " at " << *single.n_ctx);
        const auto& cell = std::get<SizedVerdict>(row.cells[c]);
        CHECK(cell.verdict == a.verdict);
        if (a.verdict != Verdict::refused) {
            std::uint64_t required = 0;
            for (const DeviceAnswer& device : a.devices) required += device.required;
            CHECK(cell.bytes == required);
        } else {
            CHECK_FALSE(cell.bytes);
        }
        const std::uint64_t largest = a.max_ctx.fit > 0 ? a.max_ctx.fit : a.max_ctx.tight;
        CHECK(row.cells.back() == (largest > 0 ? Cell(largest) : Cell()));
    }
}

TEST_CASE("the quantizations at a context: every row is an answer, and the best is the first that fits") {
    Dice dice(2);
    for (int round = 0; round < 40; ++round) {
        Request request = random_request(dice);
        request.n_ctx = 1024U << dice.below(5);
        const Table table = std::get<Table>(solve(request));
        INFO(round << ": " << described(request) << " ctx " << *request.n_ctx);
        REQUIRE(table.columns.size() == 7);
        Verdict easiest = Verdict::refused;
        for (const TableRow& row : table.rows) easiest = std::min(easiest, std::get<Verdict>(row.cells[5]));
        bool found = false;
        for (const TableRow& row : table.rows) {
            const bool first = !found && easiest <= Verdict::tight && row.cells[5] == Cell(easiest);
            CHECK(row.cells[6] == Cell(first));
            found = found || first;
        }
        const TableRow& row = table.rows[dice.below(table.rows.size())];
        request.quant = std::get<std::string>(row.cells[0]);
        const Answer a = answer(request);
        CHECK(row.cells[2] == Cell(a.model.tensor_bytes));
        CHECK(row.cells[5] == Cell(a.verdict));
        if (a.verdict == Verdict::refused) continue;
        CHECK(row.cells[4] == Cell(std::ranges::min(a.devices, {}, &DeviceAnswer::headroom).headroom));
    }
}

TEST_CASE("asked twice, a table is the same") {
    Dice dice(3);
    for (int round = 0; round < 5; ++round) {
        const Request request = random_request(dice);
        const Table first = std::get<Table>(solve(request));
        const Table second = std::get<Table>(solve(request));
        REQUIRE(first.rows.size() == second.rows.size());
        for (std::size_t i = 0; i < first.rows.size(); ++i) CHECK(first.rows[i].cells == second.rows[i].cells);
    }
}
