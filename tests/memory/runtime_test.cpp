#include "vramfit/memory/runtime.hpp"

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/error.hpp"

#include "catch.hpp"

using namespace vramfit;

namespace {

std::string error_of(std::string_view name) {
    try {
        find_runtime(name);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

} // namespace

namespace {

std::string error_in(std::string_view json, std::string_view name = "a") {
    try {
        find_runtime(name, json);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

} // namespace

TEST_CASE("llama.cpp means its server: four slots on one cache, a row of logits each") {
    const RuntimeProfile p = find_runtime("llama.cpp");
    CHECK(p.id == "llama.cpp");
    CHECK(p.program == "llama-server");
    CHECK(p.slots == 4);
    CHECK(p.unified);
    CHECK_FALSE(p.unified_when_given);
    CHECK(p.outputs == RuntimeProfile::Outputs::slots);
    CHECK(p.embedding_outputs == RuntimeProfile::Outputs::batch);
    CHECK(find_runtime("llama-server").id == "llama.cpp");
    CHECK(find_runtime("LLAMA_CPP").id == "llama.cpp");
}

TEST_CASE("llama-cli has one sequence and reserves logits for a whole batch") {
    for (const char* name : {"llama-cli", "llama-bench"}) {
        const RuntimeProfile p = find_runtime(name);
        CHECK(p.id == "llama-cli");
        CHECK(p.program == "llama-cli");
        CHECK(p.slots == 1);
        CHECK_FALSE(p.unified);
        CHECK(p.outputs == RuntimeProfile::Outputs::batch);
    }
}

TEST_CASE("a runtime takes over what the one that it is like says") {
    const RuntimeProfile cli = find_runtime("llama-cli");
    CHECK(cli.flags.at("n_ctx") == "-c");
    CHECK(cli.flags.at("cache_type_k") == "-ctk");
    CHECK(cli.flags.at("n_cpu_moe") == "--n-cpu-moe");
    CHECK(cli.written("n_ctx", "8192").words == std::vector<std::string>{"-c", "8192"});
    CHECK(cli.written("swa_full").words == std::vector<std::string>{"--swa-full"});
    CHECK(cli.n_batch == 2048);
    CHECK(cli.n_ubatch == 512);
    CHECK(cli.cache_types.size() == 9);
}

TEST_CASE("failures read as llama.cpp prints them") {
    const RuntimeProfile p = find_runtime("llama.cpp");
    CHECK(
        p.failure("kv_cache", "cuda", 0, 3072 * mib) ==
        "allocating 3072.00 MiB on device 0: cudaMalloc failed: out of memory; failed to allocate buffer for kv cache");
    CHECK(p.failure("weights", "rocm", 1, 3 * mib / 2) ==
          "allocating 1.50 MiB on device 1: cudaMalloc failed: out of memory; unable to allocate ROCm1 buffer");
    CHECK(p.failure("compute", "vulkan", 0, 1000) ==
          "ggml_vulkan: Device memory allocation of size 1000 failed.; failed to allocate compute pp buffers");
}

TEST_CASE("an unknown runtime names near matches, one that is to come says so") {
    CHECK(error_of("llama-srever") == "unknown runtime \"llama-srever\"; did you mean llama-server?");
    CHECK(error_of("zzz") ==
          "unknown runtime \"zzz\"; llama.cpp, llama-cli, ollama, lmstudio, koboldcpp, vllm, sglang, "
          "transformers and mlx are known");
    CHECK(error_in(R"({"runtimes": [{"id": "a", "aliases": []}], "not_yet": ["vllm"]})", "vLLM") ==
          "runtime vllm is not described yet; a are");
}

TEST_CASE("llama.cpp's command line says every setting; every profile has its failures") {
    const RuntimeProfile llama = find_runtime("llama.cpp");
    for (const char* setting : {"model",
                                "n_ctx",
                                "gpu_layers",
                                "tensor_split",
                                "n_cpu_moe",
                                "cpu_moe",
                                "cache_type_k",
                                "cache_type_v",
                                "flash_attn",
                                "parallel",
                                "kv_unified",
                                "no_kv_unified",
                                "n_batch",
                                "n_ubatch",
                                "no_op_offload",
                                "no_kv_offload",
                                "swa_full",
                                "embeddings",
                                "mtp",
                                "split_mode",
                                "main_gpu",
                                "override_tensor",
                                "mmproj",
                                "no_mmproj",
                                "model_draft",
                                "ngl_draft",
                                "lora",
                                "cache_type_k_draft",
                                "cache_type_v_draft"})
        CHECK(llama.flags.contains(setting));
    for (const RuntimeProfile& p : runtimes()) {
        INFO(p.id);
        if (p.serving) { // which has occasions instead
            for (const char* occasion : {"weights", "no_room", "too_long"})
                CHECK(p.serving->messages.contains(occasion));
            continue;
        }
        for (const char* part : {"weights", "kv_cache", "recurrent_state", "compute"}) CHECK(p.failures.contains(part));
        for (const char* backend : {"cuda", "rocm", "metal", "vulkan"}) CHECK(p.buffers.contains(backend));
    }
}

TEST_CASE("a setting is a flag, a variable or a line elsewhere; what a runtime lacks cannot be said") {
    using Words = std::vector<std::string>;
    RuntimeProfile p;
    p.flags = {{"n_ctx", "--context"}, {"model", ""}, {"flash_attn", "--noflash"}};
    p.environment = {{"cache_type_k", "X_KV"}};
    p.elsewhere = {{"n_batch", "PARAMETER num_batch {value}"}};
    p.values = {{"flash_attn", {{"off", ""}}}};
    CHECK(p.written("n_ctx", "8192").words == Words{"--context", "8192"});
    CHECK(p.written("model", "M").words == Words{"M"}); // by its place alone
    CHECK(p.written("flash_attn", "off").words == Words{"--noflash"});
    CHECK(p.written("flash_attn", "on").words.empty()); // what it does anyway
    CHECK(p.written("cache_type_k", "q8_0").words == Words{"X_KV=q8_0"});
    CHECK(p.written("cache_type_k", "q8_0").style == RuntimeProfile::Style::environment);
    CHECK(p.written("n_batch", "512").words == Words{"PARAMETER num_batch 512"});
    CHECK(p.written("n_batch", "512").style == RuntimeProfile::Style::elsewhere);
    CHECK(p.can_set("n_batch"));
    CHECK_FALSE(p.can_set("parallel"));
}

TEST_CASE("a default context depends on the memory of all GPUs, and is no larger than what the model was trained for") {
    RuntimeProfile p;
    CHECK(p.default_context(24 * gib, 131072) == 131072);
    p.default_ctx = {{48 * gib, 262144}, {24 * gib, 32768}, {0, 4096}};
    CHECK(p.default_context(24 * gib - 1, 131072) == 4096);
    CHECK(p.default_context(24 * gib, 131072) == 32768);
    CHECK(p.default_context(48 * gib, 131072) == 131072);
    CHECK(p.default_context(48 * gib, 1048576) == 262144);
    CHECK(p.default_context(48 * gib, 0) == 262144);
    CHECK(p.default_context(8 * gib, 2048) == 2048);
}

TEST_CASE("malformed data about runtimes is an error, whatever is wrong with it") {
    for (const char* text : {"", "[]", "{}", R"({"runtimes": 1, "not_yet": []})", R"({"runtimes": [1], "not_yet": []})",
                             R"({"runtimes": [{"id": 1, "aliases": []}], "not_yet": []})",
                             R"({"runtimes": [{"id": "a", "aliases": []}], "not_yet": []})",
                             R"({"runtimes": [{"id": "b", "aliases": []}], "not_yet": [1]})"}) {
        INFO(text);
        CHECK(error_in(text).find("runtimes.json: ") == 0);
    }
    CHECK(error_in(R"({"runtimes": [{"id": "a", "aliases": [], "like": "a"}], "not_yet": []})") ==
          "runtimes.json: \"a\" is like itself");
    CHECK(error_in(R"({"runtimes": [{"id": "a", "aliases": [], "like": "b"}, {"id": "b", "aliases": [], "like": "a"}],
                       "not_yet": []})")
              .find("is like itself") != std::string::npos);
    CHECK(error_in(R"({"runtimes": [{"id": "a", "aliases": [], "like": "c"}], "not_yet": []})") ==
          "runtimes.json: a runtime is like the unknown \"c\"");
}

TEST_CASE("what a runtime's entry gets wrong is named") {
    const auto with = [](std::string rows, std::string slots, std::string type) {
        return R"({"not_yet": [], "runtimes": [{"id": "a", "name": "A", "program": "a", "version": "1", "aliases": [],
          "context": {"default": "trained", "reserved": "load"}, "attention": {"flash_attn": "auto"},
          "compute_measured": true, "slots": {"default": )" +
               slots + R"(, "unified": true, "unified_when_given": true},
          "outputs": {"rows": ")" +
               rows + R"(", "rows_with_embeddings": "batch", "draft_tokens": 0},
          "batch": {"n_batch": 1, "n_ubatch": 1}, "least_ctx": {"tokens": 1},
          "host": {"prompt_cache_mib": 1, "checkpoints": 1, "checkpoint_step": 1}, "cache_types": {"types": [")" +
               type + R"("]}, "failures": {"allocation": {}, "buffers": {}}}]})";
    };
    CHECK(error_in(with("rows", "1", "f16")) == "runtimes.json: rows must be slots or batch, not \"rows\"");
    CHECK(error_in(with("slots", "-1", "f16")) == "runtimes.json: default must be a whole number");
    CHECK(error_in(with("slots", "1", "f17")) == "runtimes.json: unknown cache type \"f17\"");
    CHECK(error_in(with("slots", "1", "f16")) == "runtimes.json: \"a\" lacks the failure weights");
    CHECK(error_in(with("slots", "1", R"(f16"]}, "flags": {"n_ctxt": "-c"}, "x": {"y": [")")) ==
          "runtimes.json: unknown setting \"n_ctxt\" among the flags");
}

namespace {

std::string error_of_version(std::string_view name, std::string_view version) {
    try {
        find_runtime_version(name, version);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

} // namespace

TEST_CASE("older builds of llama.cpp have older rules") {
    const RuntimeProfile now = find_runtime("llama.cpp");
    CHECK(find_runtime_version("llama.cpp", now.version).slots == 4);
    CHECK(find_runtime_version("llama.cpp", "b10488").slots == 4);
    CHECK(find_runtime_version("llama.cpp", "10488").version == "b10488");

    const RuntimeProfile without_fit = find_runtime_version("llama.cpp", "b7404"); // pull request 16653 is newer
    CHECK_FALSE(without_fit.has_fit);
    CHECK_FALSE(without_fit.fits_ctx);
    CHECK(without_fit.slots == 4);

    const RuntimeProfile one_slot = find_runtime_version("llama.cpp", "b6816"); // pull request 16736 is newer
    CHECK(one_slot.slots == 1);
    CHECK_FALSE(one_slot.unified);
    CHECK(one_slot.flash_attn == FlashAttention::automatic);
    CHECK(one_slot.written("flash_attn", "on").words == std::vector<std::string>{"-fa", "on"});

    const RuntimeProfile bare_fa = find_runtime_version("llama.cpp", "b6325"); // -fa was a switch, off by default
    CHECK(bare_fa.flash_attn == FlashAttention::off);
    CHECK(bare_fa.written("flash_attn", "on").words == std::vector<std::string>{"-fa"});
    CHECK(bare_fa.written("flash_attn", "off").words.empty());
    CHECK(bare_fa.version_notes.empty());
}

TEST_CASE("where it is not known which of two builds brought a change, a note says so") {
    const RuntimeProfile p = find_runtime_version("llama.cpp", "b6900");
    CHECK(p.slots == 4);
    REQUIRE(p.version_notes.size() == 1);
    CHECK(p.version_notes[0] ==
          "llama.cpp got four slots on one cache between b6816 and b7079: b6900 is taken to have it");
}

TEST_CASE("a version is a build of llama.cpp; of the other runtimes one is known") {
    CHECK(error_of_version("llama.cpp", "2025-08") ==
          "a version of llama.cpp is the number of a build, such as b6325, not \"2025-08\"");
    CHECK(error_of_version("llama.cpp", "b") ==
          "a version of llama.cpp is the number of a build, such as b6325, not \"b\"");
    CHECK(error_of_version("llama.cpp", "b0") ==
          "a version of llama.cpp is the number of a build, such as b6325, not \"b0\"");
    CHECK(error_of_version("koboldcpp", "1.90") ==
          "one version of KoboldCpp is known, 1.12x (August 2026); leave --runtime-version out");
}
