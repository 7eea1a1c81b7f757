// The commands that answers and suggestions print, read back, are the same deployments.
#include "ask.hpp"
#include "catch.hpp"
#include "support/environment.hpp"
#include "vramfit/answer/deployment.hpp"
#include "vramfit/base/shell_words.hpp"

#include <limits>
#include <random>

using namespace vramfit;

namespace {

/// What a command cannot say of a question: which model it is, and where it runs.
std::vector<SettingText> frame_of(const Request& request) {
    std::vector<SettingText> options{{"model", request.model, "--model"}};
    if (request.quant) options.push_back({"quant", *request.quant, "--quant"});
    for (const std::string& gpu : request.gpus) options.push_back({"gpu", gpu, "--gpu"});
    if (request.projector) options.push_back({"mmproj", *request.projector, "--mmproj"});
    if (request.draft) {
        options.push_back({"model-draft", request.draft->model, "--model-draft"});
        if (request.draft->quant) options.push_back({"quant-draft", *request.draft->quant, "--quant-draft"});
    }
    return options;
}

Request read_back(const std::string& command, const Request& asked) {
    DeploymentText text;
    text.options = frame_of(asked);
    text.command = shell_words(command);
    ModelSources sources;
    sources.environment = empty_environment();
    Request request = request_of(text, sources);
    request.strict = asked.strict;
    return request;
}

void check_same(const Answer& again, const Answer& first) {
    CHECK(again.settings.runtime == first.settings.runtime);
    CHECK(again.settings.n_ctx == first.settings.n_ctx);
    CHECK(again.settings.parallel == first.settings.parallel);
    CHECK(again.settings.kv_unified == first.settings.kv_unified);
    CHECK(again.settings.gpu_layers == first.settings.gpu_layers);
    CHECK(again.settings.n_cpu_moe == first.settings.n_cpu_moe);
    CHECK(again.verdict == first.verdict);
    CHECK(again.host.total() == first.host.total());
    REQUIRE(again.devices.size() == first.devices.size());
    for (std::size_t i = 0; i < first.devices.size(); ++i)
        CHECK(again.devices[i].required == first.devices[i].required);
}

/// Random settings of a llama.cpp-like runtime.
class Deployments {
public:
    Request next(const std::string& runtime) {
        const std::string model = one_of<std::string>({"llama3.1-8b", "gemma3-12b", "qwen3-30b-a3b", "mamba-2.8b"});
        Request r = test::question(model, one_of<std::string>({"q4_k_m", "q8_0"}),
                                   one_of<std::uint64_t>({2048, 8192, 20000, 65536}),
                                   one_of<std::string>({"12GB", "24GB", "2x16GB"}));
        r.runtime = runtime;
        if (chance()) r.n_gpu_layers = one_of<std::int64_t>({0, 10, 33, gpu_layers_all});
        if (chance()) r.type_k = one_of({TensorType::f16, TensorType::q8_0, TensorType::bf16});
        if (chance()) r.type_v = one_of({TensorType::f16, TensorType::f32});
        if (chance()) r.flash_attn = one_of({FlashAttention::on, FlashAttention::off, FlashAttention::automatic});
        if (chance()) r.parallel = one_of<std::uint64_t>({1, 2, 5});
        if (chance()) r.kv_unified = chance();
        if (chance()) r.n_batch = one_of<std::uint64_t>({256, 4096});
        if (chance()) r.n_ubatch = one_of<std::uint64_t>({64, 1024});
        if (r.gpus.front() == "2x16GB" && chance()) r.tensor_split = one_of<std::vector<double>>({{3, 1}, {0.5, 1.25}});
        if (chance()) r.split_mode = one_of({SplitMode::none, SplitMode::layer});
        if (chance()) r.n_cpu_moe = one_of<std::uint32_t>({7, std::numeric_limits<std::uint32_t>::max()});
        if (chance()) r.override_tensors = {R"(blk\.(1|2)\.ffn_(up|down).*=CPU)"};
        if (model == "gemma3-12b" && chance()) {
            r.projector = "auto";
            r.projector_offload = chance();
        }
        if (model == "llama3.1-8b" && chance())
            r.draft = DraftRequest{"llama3.2-1b", "q8_0", one_of<std::int64_t>({5, 99}), TensorType::q8_0, {}};
        r.kv_offload = !chance();
        r.op_offload = !chance();
        r.swa_full = chance();
        r.embeddings = chance();
        return r;
    }

private:
    bool chance() { return random_() % 3 == 0; }

    template <typename Value>
    Value one_of(std::initializer_list<Value> values) {
        return values.begin()[random_() % values.size()];
    }

    std::mt19937 random_{8};
};

} // namespace

TEST_CASE("a command that is printed, read back, is the same deployment") {
    Deployments deployments;
    std::size_t n_suggestions = 0;
    for (int i = 0; i < 60; ++i) {
        const Request asked = deployments.next(i % 2 == 0 ? "llama.cpp" : "llama-cli");
        const Answer first = answer(asked);
        INFO(first.command);
        const Answer again = answer(read_back(first.command, asked));
        CHECK(again.command == first.command);
        check_same(again, first);
        for (const Suggestion& suggestion : first.suggestions) {
            if (suggestion.command.empty()) continue;
            INFO(suggestion.command);
            const Answer changed = answer(read_back(suggestion.command, suggestion.request));
            CHECK(changed.verdict == suggestion.verdict);
            check_same(changed, answer(suggestion.request));
            ++n_suggestions;
        }
    }
    CHECK(n_suggestions > 20);
}

TEST_CASE("the same of runtimes that have llama.cpp inside, in their own words") {
    struct Own {
        std::string runtime;
        void (*say)(Request& request);
    };
    const std::vector<Own> all{
        {"ollama",
         [](Request& r) {
             r.type_k = r.type_v = TensorType::q8_0;
             r.flash_attn = FlashAttention::on;
             r.parallel = 2;
         }},
        {"lmstudio", [](Request& r) { r.parallel = 2; }},
        {"koboldcpp",
         [](Request& r) {
             r.n_gpu_layers = 20;
             r.n_batch = r.n_ubatch = 1024;
             r.kv_offload = false;
         }},
    };
    for (const Own& own : all) {
        for (const bool more : {false, true}) {
            Request asked = test::llama_8b(8192, "24GB");
            asked.runtime = own.runtime;
            if (more) own.say(asked);
            const Answer first = answer(asked);
            INFO(first.command);
            const Answer again = answer(read_back(first.command, asked));
            CHECK(again.command == first.command);
            check_same(again, first);
        }
    }
}

TEST_CASE("the same of engines that are not llama.cpp") {
    std::size_t n_suggestions = 0;
    for (const char* runtime : {"vllm", "sglang"}) {
        for (const char* gpu : {"24GB", "2x24GB", "80GB"}) {
            for (const std::uint64_t n_ctx : {std::uint64_t{4096}, std::uint64_t{131072}}) {
                for (const bool more : {false, true}) {
                    Request asked;
                    asked.model = "llama3.1-8b";
                    asked.gpus = {gpu};
                    asked.n_ctx = n_ctx;
                    asked.runtime = runtime;
                    if (more) {
                        asked.parallel = 512;
                        asked.n_batch = 4096;
                        asked.cache_dtype = "fp8";
                        asked.memory_share = 0.8;
                        asked.cuda_graphs = std::string(runtime) != "vllm";
                    }
                    const Answer first = answer(asked);
                    INFO(first.command);
                    const Answer again = answer(read_back(first.command, asked));
                    CHECK(again.command == first.command);
                    check_same(again, first);
                    for (const Suggestion& suggestion : first.suggestions) {
                        INFO(suggestion.command);
                        const Answer changed = answer(read_back(suggestion.command, suggestion.request));
                        CHECK(changed.verdict == suggestion.verdict);
                        check_same(changed, answer(suggestion.request));
                        ++n_suggestions;
                    }
                }
            }
        }
    }
    CHECK(n_suggestions > 4);
}

TEST_CASE("flags of a suggestion can be appended to the command") {
    const Request asked = test::llama_8b(131072, "16GB");
    const Answer first = answer(asked);
    REQUIRE(first.verdict == Verdict::oom);
    for (const Suggestion& suggestion : first.suggestions) {
        std::string command = first.command;
        for (const std::string& flag : suggestion.flags) command += " " + shell_word(flag);
        INFO(command);
        CHECK(answer(read_back(command, suggestion.request)).verdict == suggestion.verdict);
    }
}
