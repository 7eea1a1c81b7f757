#include "ask.hpp"

#include "support/errors.hpp"
#include "vramfit/answer/solve.hpp"
#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

#include <map>
#include <tuple>

using namespace vramfit;
using namespace vramfit::test;

namespace {

struct Card {
    std::string spec;
    std::uint64_t usable = 0, required = 0;
    std::int64_t headroom = 0;
    Verdict verdict = Verdict::fit;
};

std::vector<Card> cards_for(Request request) {
    request.gpus.clear();
    const Table table = std::get<Table>(solve(request));
    REQUIRE(table.kind == "gpu");
    std::vector<Card> cards;
    for (const TableRow& row : table.rows) {
        cards.push_back({std::get<std::string>(row.cells[0]), std::get<std::uint64_t>(row.cells[2]),
                         std::get<std::uint64_t>(row.cells[3]), std::get<std::int64_t>(row.cells[4]),
                         std::get<Verdict>(row.cells[5])});
    }
    return cards;
}

const Card* find(const std::vector<Card>& cards, std::string_view spec) {
    const auto found = std::ranges::find(cards, spec, &Card::spec);
    return found == cards.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("8B at 32768 wants 10 GiB: GPUs, smallest first") {
    // 5261.50 MiB and 129 KiB a token (ask.hpp): 9389.50 MiB with a typical driver.
    const std::vector<Card> cards = cards_for(llama_8b(32768, ""));
    CHECK_FALSE(find(cards, "rtx4060")); // 8 GB
    REQUIRE(find(cards, "rtx3060-12gb"));
    CHECK(find(cards, "rtx3060-12gb")->verdict == Verdict::fit);
    CHECK_FALSE(find(cards, "2xrtx3060-12gb")); // one is enough
    CHECK(find(cards, "2xrtx4060"));
    CHECK(std::ranges::is_sorted(cards, {}, &Card::usable));
    // Macs by what macOS lets Metal use, and one at a time.
    REQUIRE(find(cards, "m3-max-64gb"));
    CHECK_FALSE(find(cards, "2xm3-max-64gb"));
    CHECK(find(cards, "m3-max-64gb")->usable < 64 * gib);
    for (const Card& card : cards) CHECK(card.usable >= card.required);
}

TEST_CASE("what the table of GPUs says is what the answer for each of them says") {
    const std::vector<Request> requests{question("qwen3-30b-a3b", "q4_k_m", 65536, ""),
                                        question("gemma3-27b", "q8_0", 16384, ""),
                                        question("falcon-h1-7b", "q4_k_m", 8192, "")};
    for (const Request& request : requests) {
        const std::vector<Card> cards = cards_for(request);
        REQUIRE(cards.size() > 20);
        for (std::size_t i = 0; i < cards.size(); i += 7) {
            Request single = request;
            single.gpus = {cards[i].spec};
            const Answer a = answer(single);
            INFO(request.model << " on " << cards[i].spec);
            std::uint64_t required = 0;
            std::int64_t least = std::numeric_limits<std::int64_t>::max();
            for (const DeviceAnswer& device : a.devices) {
                required += device.required;
                least = std::min(least, device.headroom);
            }
            CHECK(a.verdict == cards[i].verdict);
            CHECK(required == cards[i].required);
            CHECK(least == cards[i].headroom);
        }
    }
}

TEST_CASE("nothing holds it, or the runtime refuses it: no rows, and why") {
    Request huge = question("llama3.1-405b", "f16", 131072, "");
    huge.gpus.clear();
    huge.parallel = 64;
    huge.kv_unified = false;
    huge.n_ctx = 64 * 131072;
    const Table none = std::get<Table>(solve(huge));
    CHECK(none.rows.empty());
    CHECK(none.legend == "no GPU of the catalog holds it, nor do two or four of one");
    CHECK_FALSE(has_match(none, false));
    Request refused = llama_8b(4096, "");
    refused.gpus.clear();
    refused.flash_attn = FlashAttention::off;
    refused.type_v = TensorType::q8_0;
    const Table table = std::get<Table>(solve(refused));
    CHECK(table.rows.empty());
    CHECK(contains(table.legend, "no GPU: llama.cpp refuses these settings: "));
}

TEST_CASE("the note says what is needed, and of what it consists") {
    Request request = llama_8b(32768, "");
    request.gpus.clear();
    const Table table = std::get<Table>(solve(request));
    // 4403.49 + 4096 + 140.01 + 750 = 9389.50 MiB = 9.2 GiB
    CHECK(table.notes.at(0) ==
          "on one GPU it needs 9.2 GiB: weights 4.3 GiB, KV cache 4.0 GiB, compute 140 MiB, driver "
          "and process 750 MiB");
}

TEST_CASE("options of GPUs that are given make no sense without one") {
    Request request = llama_8b(4096, "");
    request.gpus.clear();
    request.free = gib;
    CHECK(contains(test::error_of([&] { solve(request); }), "--free is about a GPU"));
    request.free.reset();
    request.tensor_split = {1, 1};
    CHECK(contains(test::error_of([&] { solve(request); }), "--tensor-split is about GPUs"));
}
