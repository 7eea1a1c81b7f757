#include "vramfit/answer/settings_text.hpp"

#include "catch.hpp"
#include "support/errors.hpp"

using namespace vramfit;

namespace {

Request request_of(const std::vector<SettingText>& settings) {
    Request request;
    apply_settings(request, settings);
    return request;
}

std::string error_of(const SettingText& setting) {
    return test::error_of([&] { request_of({setting}); });
}

} // namespace

TEST_CASE("settings are said by the names of the program's options, wherever they stand") {
    const Request request = request_of({{"ctx", "32k", "LLAMA_ARG_CTX_SIZE"},
                                        {"cache_type_k", "q8_0", "a"},
                                        {"kv-offload", "off", "b"},
                                        {"no-op-offload", "on", "c"},
                                        {"swa_full", "1", "d"},
                                        {"gpu-layers", "-1", "e"}});
    CHECK(request.n_ctx == 32768);
    CHECK(request.type_k == TensorType::q8_0);
    CHECK_FALSE(request.type_v);
    CHECK_FALSE(request.kv_offload);
    CHECK_FALSE(request.op_offload);
    CHECK(request.swa_full);
    CHECK(request.n_gpu_layers == gpu_layers_auto); // llama.cpp's number for it
}

TEST_CASE("the last saying counts, what adds up adds up and replaces what was there before") {
    CHECK(request_of({{"ctx", "1", "a"}, {"ctx", "2", "b"}}).n_ctx == 2);
    CHECK(request_of({{"cache-type", "q8_0", "a"}, {"cache-type-k", "f32", "b"}}).type_v == TensorType::q8_0);
    Request request;
    request.gpus = {"8GB"};
    apply_settings(request, std::vector<SettingText>{{"ctx", "1", "a"}});
    CHECK(request.gpus == std::vector<std::string>{"8GB"});
    apply_settings(request, std::vector<SettingText>{{"gpu", "24GB", "a"}, {"gpu", "12GB", "a"}});
    CHECK(request.gpus == std::vector<std::string>{"24GB", "12GB"});
    CHECK_FALSE(request_of({{"mmproj", "auto", "a"}, {"mmproj", "none", "b"}}).projector);
}

TEST_CASE("mistakes name where they stand") {
    CHECK(error_of({"ctx", "many", "compose.yaml:7: -c"}) ==
          "compose.yaml:7: -c: \"many\" is not a context size; write tokens like 32768, 32k, or max");
    CHECK(error_of({"parallel", "0", "OLLAMA_NUM_PARALLEL"}) ==
          "OLLAMA_NUM_PARALLEL must be a whole number from 1 to 256, not \"0\"");
    CHECK(error_of({"swa-full", "maybe", "x"}) == "x must be on or off, not \"maybe\"");
    CHECK(error_of({"gpu-layer", "1", "fleet.json:3"}) ==
          "fleet.json:3: unknown setting \"gpu-layer\"; did you mean gpu-layers, gpu-layers-draft or gpu?");
    CHECK(error_of({"no-ctx", "1", "x"}).starts_with("x: unknown setting \"no-ctx\""));
}
