#include "vramfit/memory/placement.hpp"

#include "support/errors.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

#include <algorithm>

using namespace vramfit;
using test::error_of;

namespace {

/// Llama 3.1 8B: 32 blocks and the output layer.
const Model& llama() {
    static const Model model = catalog_model("llama3.1-8b");
    return model;
}

Placement placed(const PlacementRequest& request) { return place(llama(), request, false); }

std::int64_t layers_on(const Placement& p, std::int32_t device) { return std::ranges::count(p.layer_device, device); }

std::int32_t device_of(const Model& model, const Placement& p, std::string_view name) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
        if (model.full_name_of(model.tensors[i]) == name) return p.tensor_device[i];
    }
    FAIL("no tensor " << name);
    return -2;
}

} // namespace

TEST_CASE("everything on one device but the token embedding") {
    const Placement p = placed({});
    CHECK(p.all_offloaded);
    CHECK(layers_on(p, 0) == 33);
    CHECK(device_of(llama(), p, "token_embd.weight") == host_device);
    CHECK(device_of(llama(), p, "blk.0.attn_q.weight") == 0);
    CHECK(device_of(llama(), p, "output.weight") == 0);
    CHECK(p.tied_output == -1);
}

TEST_CASE("Option -ngl counts from the end, the output layer first") {
    PlacementRequest r;
    r.n_gpu_layers = 1;
    CHECK(layers_on(placed(r), 0) == 1);
    CHECK(placed(r).output_device() == 0);
    CHECK(device_of(llama(), placed(r), "blk.31.attn_q.weight") == host_device);
    r.n_gpu_layers = 32; // llama.cpp's trap: the first block stays on the host
    CHECK(placed(r).layer_device.front() == host_device);
    CHECK_FALSE(placed(r).all_offloaded);
    r.n_gpu_layers = 33;
    CHECK(placed(r).all_offloaded);
    r.n_gpu_layers = 99; // more than there are
    CHECK(placed(r).all_offloaded);
    r.n_gpu_layers = 0;
    CHECK(layers_on(placed(r), host_device) == 33);
}

TEST_CASE("without a device everything is on the host") {
    PlacementRequest r;
    r.n_devices = 0;
    CHECK(layers_on(placed(r), host_device) == 33);
    CHECK_FALSE(placed(r).all_offloaded);
}

TEST_CASE("devices take their share of the layers in order") {
    PlacementRequest r;
    r.n_devices = 2; // 33 items: 0..16 have i / 33 < 0.5
    Placement p = placed(r);
    CHECK(layers_on(p, 0) == 17);
    CHECK(layers_on(p, 1) == 16);
    CHECK(p.output_device() == 1);
    CHECK(std::ranges::is_sorted(p.layer_device));

    r.tensor_split = {1, 3}; // 0..8 have i / 33 < 0.25
    p = placed(r);
    CHECK(layers_on(p, 0) == 9);
    CHECK(layers_on(p, 1) == 24);

    r.tensor_split = {3}; // the second gets nothing
    CHECK(layers_on(placed(r), 0) == 33);

    r.tensor_split = {1, 1};
    r.n_gpu_layers = 10; // 23 on the host, then 5 and 5
    p = placed(r);
    CHECK(layers_on(p, host_device) == 23);
    CHECK(layers_on(p, 0) == 5);
    CHECK(layers_on(p, 1) == 5);
}

TEST_CASE("shares that cannot be meant are errors") {
    PlacementRequest r;
    r.n_devices = 2;
    r.tensor_split = {1, 2, 3};
    CHECK(error_of([&] { placed(r); }) == "the tensor split has 3 shares for 2 devices");
    r.tensor_split = {0, 0};
    CHECK(error_of([&] { placed(r); }) == "the tensor split gives no device a share");
}

TEST_CASE("Option --n-cpu-moe keeps the experts of the first layers on the host, and nothing else of them") {
    const Model qwen = catalog_model("qwen3-30b-a3b");
    PlacementRequest r;
    r.n_cpu_moe = 2;
    const Placement p = place(qwen, r, false);
    CHECK(device_of(qwen, p, "blk.0.ffn_up_exps.weight") == host_device);
    CHECK(device_of(qwen, p, "blk.1.ffn_down_exps.weight") == host_device);
    CHECK(device_of(qwen, p, "blk.1.ffn_gate_exps.weight") == host_device);
    CHECK(device_of(qwen, p, "blk.1.ffn_gate_inp.weight") == 0); // the router
    CHECK(device_of(qwen, p, "blk.1.attn_q.weight") == 0);
    CHECK(device_of(qwen, p, "blk.2.ffn_up_exps.weight") == 0);
    CHECK(p.all_offloaded);
}

TEST_CASE("shared experts are no experts to --n-cpu-moe") {
    const Model deepseek = catalog_model("deepseek-v2-lite");
    PlacementRequest r;
    r.n_cpu_moe = 27;
    const Placement p = place(deepseek, r, false);
    CHECK(device_of(deepseek, p, "blk.5.ffn_up_exps.weight") == host_device);
    CHECK(device_of(deepseek, p, "blk.5.ffn_up_shexp.weight") == 0);
}

TEST_CASE("a tied output matrix is the token embedding, once more where the output layer lies") {
    const Model tied = catalog_model("llama3.2-1b");
    const Placement p = place(tied, {}, false);
    REQUIRE(p.tied_output >= 0);
    CHECK(tied.name_of(tied.tensors[static_cast<std::size_t>(p.tied_output)]) == "token_embd.weight");
    CHECK(device_of(tied, p, "token_embd.weight") == host_device);
}

TEST_CASE("MTP blocks are loaded only when MTP is on") {
    const Model glm = catalog_model("glm-4.7-flash+mtp"); // the last block is an MTP block
    const auto loaded = [&](bool mtp) {
        const Placement p = place(glm, {}, mtp);
        return std::ranges::count(p.loaded, true);
    };
    CHECK(loaded(true) == static_cast<std::ptrdiff_t>(glm.tensors.size()));
    CHECK(loaded(false) < loaded(true));
    const Placement p = place(glm, {}, false);
    for (std::size_t i = 0; i < glm.tensors.size(); ++i) {
        if (!p.loaded[i]) CHECK(glm.tensors[i].layer >= static_cast<std::int32_t>(glm.n_layer()));
    }
}

TEST_CASE("Option -ot places tensors one by one, and the first pattern that matches decides", "[overrides]") {
    PlacementRequest r;
    r.n_devices = 2;
    r.overrides = {{"blk\\.[01]\\.ffn_down", host_device}, {"ffn_(up|down)", 1}};
    const Placement p = placed(r);
    CHECK(device_of(llama(), p, "blk.0.ffn_down.weight") == host_device);
    CHECK(device_of(llama(), p, "blk.1.ffn_down.weight") == host_device);
    CHECK(device_of(llama(), p, "blk.10.ffn_down.weight") == 1); // of the first device's layers
    CHECK(device_of(llama(), p, "blk.0.ffn_up.weight") == 1);
    CHECK(device_of(llama(), p, "blk.0.ffn_gate.weight") == 0);
    CHECK(device_of(llama(), p, "token_embd.weight") == host_device);
    CHECK(p.overridden);
    CHECK(p.all_offloaded);
    CHECK_FALSE(placed({}).overridden);
}

TEST_CASE("an override comes before --n-cpu-moe, and reaches tensors outside the blocks", "[overrides]") {
    const Model qwen = catalog_model("qwen3-30b-a3b");
    PlacementRequest r;
    r.n_cpu_moe = 2;
    r.overrides = {{"blk\\.0\\.ffn_up_exps", 0}, {"^output\\.weight$", host_device}, {"token_embd", 0}};
    const Placement p = place(qwen, r, false);
    CHECK(device_of(qwen, p, "blk.0.ffn_up_exps.weight") == 0);
    CHECK(device_of(qwen, p, "blk.0.ffn_down_exps.weight") == host_device);
    CHECK(device_of(qwen, p, "output.weight") == host_device);
    CHECK(device_of(qwen, p, "output_norm.weight") == 0);
    CHECK(device_of(qwen, p, "token_embd.weight") == 0);
}

TEST_CASE("a tied output matrix has the embedding's name, and goes where an override sends that", "[overrides]") {
    const Model tied = catalog_model("llama3.2-1b");
    CHECK(place(tied, {}, false).tied_device == 0);
    PlacementRequest r;
    r.overrides = {{"token_embd", host_device}};
    CHECK(place(tied, r, false).tied_device == host_device);
    r.overrides = {{"^output", host_device}}; // the output norm alone
    CHECK(place(tied, r, false).tied_device == 0);
}

TEST_CASE("overrides that cannot be meant are errors", "[overrides]") {
    const auto error_for = [](const std::string& pattern, std::int32_t device) {
        PlacementRequest r;
        r.overrides = {{pattern, device}};
        return error_of([&] { placed(r); });
    };
    CHECK(error_for("exps", 1) == "an override names device 1 of 1");
    for (const std::string pattern : {"(exps", "exps)", "[a-", "*", "a{2,1}"})
        CHECK(error_for(pattern, 0) ==
              "the pattern \"" + pattern + "\" is no regular expression; one would be exps, or blk\\.[0-9]\\.ffn");
    CHECK(error_for(std::string(100000, '('), 0).ends_with("is too long: at most 1000 characters"));
    // Would take longer than anybody waits where a matcher tries every way through the text.
    CHECK(error_for("(.*)*(.*)*(.*)*(.*)*x=CPU", 0) == "no error");
}

TEST_CASE("patterns are searched for anywhere in the full name", "[overrides]") {
    TensorPatterns patterns(llama());
    const auto found = [&](const std::string& pattern) { return std::ranges::count(patterns.matches(pattern), true); };
    CHECK(found("attn_q") == 32);
    CHECK(found("^attn_q") == 0);
    CHECK(found("^blk\\.3\\d?\\.attn_q\\.weight$") == 3); // 3, 30, 31
    CHECK(found("output") == 34);                         // attn_output, output, output_norm
    CHECK(patterns.any("output_norm"));
    CHECK_FALSE(patterns.any("exps"));
    CHECK(found("") == static_cast<std::ptrdiff_t>(llama().tensors.size()));
}

TEST_CASE("without a split the main device holds everything, as device 0 of the placement", "[overrides]") {
    PlacementRequest r;
    r.n_devices = 3;
    r.split_mode = SplitMode::none;
    r.main_device = 2;
    r.tensor_split = {1, 1, 1};
    r.overrides = {{"ffn_up", 2}};
    Placement p = placed(r);
    CHECK(p.n_devices == 1);
    CHECK(layers_on(p, 0) == 33);
    CHECK(device_of(llama(), p, "blk.3.ffn_up.weight") == 0);
    r.overrides = {{"ffn_up", 1}};
    CHECK(error_of([&] { placed(r); }) ==
          "an override names device 1, but without a split the main device 2 alone is used");
    r.main_device = 3;
    r.overrides.clear();
    CHECK(error_of([&] { placed(r); }) == "the main device is 3, but there are 3, counted from 0");
    r.split_mode = SplitMode::layer; // which has no main device
    CHECK(layers_on(placed(r), 0) == 11);
}
