#include "answer/auto_request.hpp"
#include "answer/overrides.hpp"
#include "ask.hpp"
#include "vramfit/base/bytes.hpp"
#include "vramfit/model/catalog.hpp"

#include "catch.hpp"

using namespace vramfit;
using namespace vramfit::test;

namespace {

Request automatic(const char* model, std::optional<std::uint64_t> n_ctx, std::vector<std::string> gpus) {
    Request request = question(model, "q4_k_m", 0, "");
    request.n_ctx = n_ctx;
    request.gpus = std::move(gpus);
    request.n_gpu_layers = gpu_layers_auto;
    return request;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// Experts of layers [first, end) on the host.
std::vector<PartOverride> experts(std::uint32_t first, std::uint32_t end) {
    std::vector<PartOverride> parts;
    for (std::uint32_t il = first; il < end; ++il) parts.push_back({il, LayerPart::experts, host_device});
    return parts;
}

} // namespace

TEST_CASE("auto: parts of layers are said with one expression for the experts and one for each other part", "[auto]") {
    std::vector<PartOverride> parts = experts(24, 49); // 48 is the output layer of a model with 48 blocks
    parts.insert(parts.begin(), {23, LayerPart::down_and_gate, host_device});
    CHECK(override_texts(parts, 48, {"CUDA0"}) ==
          std::vector<std::string>{R"(blk\.23\.ffn_(gate|gate_up|down).*=CPU)",
                                   R"(blk\.(2[4-9]|3[0-9]|4[0-7])\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU)"});
    CHECK(override_texts({{7, LayerPart::down, 1}, {9, LayerPart::ffn, host_device}}, 48, {"CUDA0", "CUDA1"}) ==
          std::vector<std::string>{R"(blk\.7\.ffn_down.*=CUDA1)", R"(blk\.9\.ffn_(gate|up|gate_up|down).*=CPU)"});
    CHECK(override_texts(experts(3, 5), 48, {}) ==
          std::vector<std::string>{R"(blk\.[3-4]\.ffn_(up|down|gate_up|gate)_(ch|)exps=CPU)"});
    CHECK(override_texts({}, 48, {}).empty());
}

TEST_CASE("auto: what the expressions find is what the parts are", "[auto]") {
    const std::vector<Device> devices(2);
    const RuntimeProfile runtime = find_runtime("llama.cpp");
    for (const char* name : {"qwen3-30b-a3b", "deepseek-v2-lite", "gpt-oss-20b", "gemma3-12b"}) {
        const Model model = catalog_model(name);
        PlacementRequest by_part;
        by_part.n_devices = 2;
        by_part.n_gpu_layers = 20;
        by_part.parts = experts(12, model.n_block());
        by_part.parts.push_back({8, LayerPart::down, 1});
        by_part.parts.push_back({9, LayerPart::down_and_gate, host_device});
        by_part.parts.push_back({10, LayerPart::ffn, 1});
        PlacementRequest by_name = by_part;
        by_name.parts.clear();
        by_name.overrides =
            parse_overrides(override_texts(by_part.parts, model.n_block(),
                                           {buffer_name(devices, 0, runtime), buffer_name(devices, 1, runtime)}),
                            devices, runtime);
        CAPTURE(name);
        CHECK(place(model, by_part, false).tensor_device == place(model, by_name, false).tensor_device);
    }
}

TEST_CASE("auto: a model with experts on a smaller card gets -ot, and fits with the margin", "[auto]") {
    const Answer a = answer(automatic("qwen3-30b-a3b", 16384, {"12GB"}));
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.devices[0].headroom >= static_cast<std::int64_t>(gib));
    CHECK(a.devices[0].headroom < static_cast<std::int64_t>(gib + 374 * mib)); // the experts of one layer more
    CHECK(has(a.command, "-c 16384 -ngl 49"));
    CHECK(has(a.command, "ffn_(up|down|gate_up|gate)_(ch|)exps=CPU"));
    CHECK(has_note(a, "placed as llama.cpp's --fit does, which keeps 1.0 GiB of each GPU free: 49 of 49 layers"));
}

TEST_CASE("auto: layers of a model without experts go to the host, and each device gets its share", "[auto]") {
    const Answer a = answer(automatic("llama3.3-70b", 8192, {"24GB", "12GB"}));
    CHECK(a.verdict == Verdict::fit);
    CHECK(a.settings.gpu_layers < 81);
    CHECK(has(a.command, "-ts "));
    CHECK_FALSE(has(a.command, "-ot "));
    for (const DeviceAnswer& device : a.devices) {
        CHECK(device.headroom >= static_cast<std::int64_t>(gib));
        CHECK(device.headroom < static_cast<std::int64_t>(gib + 700 * mib)); // a layer takes less
    }
    CHECK(a.host.weights > 2 * gib);
}

TEST_CASE("auto: what has room stays, and a context that nobody gave is what the model was trained for", "[auto]") {
    const Answer a = answer(automatic("llama3.1-8b", std::nullopt, {"48GB"}));
    CHECK(a.settings.n_ctx == 131072);
    CHECK(a.settings.gpu_layers == 33);
    CHECK(has(a.command, "-c 131072 -ngl 99"));
    CHECK(has_note(a, "no context was given: llama.cpp takes all that the model was trained for"));
    CHECK(has_note(a, "all layers on the GPU"));
}

TEST_CASE("auto: a context that nobody gave shrinks first", "[auto]") {
    // 24564 MiB less 750 MiB leave 238 MiB less than the card of the log whose context is 17408: at 256 KiB a token
    // and 13/13312 MiB of compute buffer that is 950 tokens, rounded up to 256.
    const Answer a = answer(automatic("qwen3-32b", std::nullopt, {"24564MiB"}));
    CHECK(a.settings.n_ctx == 16640);
    CHECK(a.settings.gpu_layers == 65);
    CHECK(a.verdict == Verdict::fit);
    CHECK(has_note(a, "llama.cpp's --fit reduces it to 16640"));
}

TEST_CASE("auto: a MTP block that is not loaded is not counted, and a layer stays on the CPU", "[auto]") {
    const Answer a = answer(automatic("glm-4.5-air", 8192, {"48GB"}));
    CHECK(has(a.command, "-ngl 47 ")); // of 46 layers, a MTP block and the output
    CHECK(has_note(a, "--fit does not count a MTP block"));
}

TEST_CASE("auto: --fit moves no layers where the user says where they go", "[auto]") {
    Request request = automatic("qwen3-30b-a3b", 16384, {"12GB"});
    request.n_cpu_moe = 4;
    const Answer experts = answer(request);
    CHECK(experts.verdict == Verdict::oom);
    CHECK(has(experts.command, "--n-cpu-moe 4"));
    CHECK(has_note(experts, "llama.cpp's --fit moves no layers: --n-cpu-moe says where experts go"));
    request = automatic("llama3.3-70b", 8192, {"12GB", "12GB"});
    request.tensor_split = {2, 1};
    CHECK(has_note(answer(request), "moves no layers: --tensor-split says where they go"));
    request.tensor_split.clear();
    request.split_mode = SplitMode::row;
    CHECK(has_note(answer(request), "moves no layers: it cannot with --split-mode row"));
}
