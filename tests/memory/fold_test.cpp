// A model's repeated layers are left out of the replay: by hand, and for every model of the catalog against its whole graph.
#include "vramfit/memory/fold.hpp"

#include "vramfit/memory/compute.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace vramfit;

namespace {

using Layers = std::vector<std::int32_t>;

/// The kinds of layers that "AAB" writes as letters.
std::vector<std::uint32_t> kinds_of(const std::string& letters) {
    std::vector<std::uint32_t> kinds;
    for (const char c : letters) kinds.push_back(static_cast<std::uint32_t>(c - 'A'));
    return kinds;
}

std::string repeated(const std::string& period, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += period;
    return all;
}

/// llama-server's context: four slots on one cache of 8192 tokens, a row of logits each.
Settings server() {
    Settings s;
    s.n_ctx = 8192;
    s.n_seq_max = 4;
    s.kv_unified = true;
    s.n_outputs_max = 4;
    return s;
}

struct Totals {
    std::size_t models = 0, folded = 0;
};

/// Plans a model's context from a fold, and again from all layers.
void check_model(const std::string& id, FlashAttention flash_attn, Totals& totals) {
    const Model model = catalog_model(id);
    Evaluator evaluator(model);
    Settings settings = server();
    settings.flash_attn = flash_attn;
    const ContextPlan context = plan_context(settings, model.n_ctx_train());
    const Placement placement = place(model, {}, settings.mtp);
    set_context(evaluator, settings, context);
    const auto caches = plan_caches(evaluator, settings, context, placement, flash_attn == FlashAttention::off);

    ComputePlanner planner(evaluator);
    const ComputePlan plan = planner.plan(settings, context, placement, caches, {});
    const ComputeTrace whole = planner.trace(settings, context, placement, caches, {}, plan.flash_attn);
    REQUIRE(plan.device_bytes.size() == 1);
    CHECK(plan.device_bytes[0] == whole.replay.buffer_bytes.at(0));
    CHECK(plan.host_bytes == whole.replay.buffer_bytes.at(1));
    CHECK(plan.n_nodes == whole.schedule.graph.n_nodes);
    // Leafs only matter for llama.cpp's limit on graphs. Where a kind of layer stands only behind cuts, the state that it
    // shares with the layer before is counted twice (Nemotron-H).
    CHECK(plan.n_leafs >= whole.schedule.graph.n_leafs);
    CHECK(plan.n_leafs <= whole.schedule.graph.n_leafs + 1);
    CHECK(plan.n_splits == whole.schedule.n_splits);
    ++totals.models;
    totals.folded += !fold_layers(GraphBuilder(evaluator).layer_kinds(), 2, 1).cuts.empty();
}

void check_catalog(FlashAttention flash_attn) {
    Totals totals;
    for (const CatalogEntry& entry : catalog_entries()) {
        if (!entry.unsupported.empty()) continue;
        INFO(entry.id);
        check_model(entry.id, flash_attn, totals);
    }
    CHECK(totals.models > 200);
    CHECK(totals.folded * 10 > totals.models * 9); // the check is not of whole graphs against themselves
}

} // namespace

TEST_CASE("a fold of no layers, of one, and without repetition keeps everything") {
    CHECK(fold_layers({}, 2, 1).layers.empty());
    for (const char* letters : {"A", "AB", "ABCDEF", "AA", "AAA", "ABAB"}) {
        INFO(letters);
        const Fold fold = fold_layers(kinds_of(letters), 2, 1);
        CHECK(fold.layers.size() == std::string(letters).size());
        CHECK(fold.removed.empty());
        CHECK(fold.cuts.empty());
    }
}

TEST_CASE("layers of one kind: two turns, and one behind the cut") {
    const Fold fold = fold_layers(kinds_of("AAAAAAAAAA"), 2, 1);
    CHECK(fold.layers == Layers{0, 1, 9});
    CHECK(fold.removed == Layers{2, 3, 4, 5, 6, 7, 8});
    REQUIRE(fold.cuts.size() == 1);
    CHECK(fold.cuts[0].at == 2);   // layer 9, the first behind the cut
    CHECK(fold.cuts[0].from == 1); // layer 1, a turn before layer 2
}

TEST_CASE("three turns of two layers, as a careful fold wants") {
    const Fold fold = fold_layers(kinds_of("AAAAAAAAAAAA"), 3, 2);
    CHECK(fold.layers == Layers{0, 1, 2, 3, 4, 5, 10, 11}); // 6 to 9: two turns; the last stays
    CHECK(fold.removed == Layers{6, 7, 8, 9});
    REQUIRE(fold.cuts.size() == 1);
    CHECK(fold.cuts[0].at == 6);
    CHECK(fold.cuts[0].from == 4);
}

TEST_CASE("a pattern of five windows and a whole layer repeats as one") {
    const Fold fold = fold_layers(kinds_of(repeated("AAAAAB", 6)), 2, 6);
    CHECK(fold.layers == Layers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 30, 31, 32, 33, 34, 35});
    REQUIRE(fold.cuts.size() == 1);
    CHECK(fold.cuts[0].at == 12);
    CHECK(fold.cuts[0].from == 6);
}

TEST_CASE(
    "what is kept and what is removed are all the layers, once each, and every cut has like layers on both sides") {
    for (const std::string& letters :
         {repeated("AAAAAB", 8), "AAA" + repeated("B", 20), "AB" + repeated("CCCD", 7) + "C", repeated("ABC", 9) + "AB",
          repeated("A", 12) + repeated("B", 12), std::string("ABACADAEAF")}) {
        for (const std::uint32_t n_kept : {2u, 3u}) {
            for (const std::uint32_t min_period : {1u, 2u}) {
                INFO(letters << ' ' << n_kept << ' ' << min_period);
                const auto kinds = kinds_of(letters);
                const Fold fold = fold_layers(kinds, n_kept, min_period);
                Layers all = fold.layers;
                all.insert(all.end(), fold.removed.begin(), fold.removed.end());
                std::ranges::sort(all);
                Layers expected(kinds.size());
                std::iota(expected.begin(), expected.end(), 0);
                CHECK(all == expected);
                for (const Fold::Cut& cut : fold.cuts) {
                    REQUIRE(cut.at < fold.layers.size());
                    CHECK(cut.from < cut.at);
                    CHECK(kinds[static_cast<std::size_t>(fold.layers[cut.at])] ==
                          kinds[static_cast<std::size_t>(fold.layers[cut.from])]);
                }
            }
        }
    }
}

TEST_CASE("the folded plan of every model is that of its whole graph, flash attention automatic") {
    check_catalog(FlashAttention::automatic);
}

TEST_CASE("the folded plan of every model is that of its whole graph, flash attention off") {
    check_catalog(FlashAttention::off);
}
