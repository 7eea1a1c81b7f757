#include "ask.hpp"

#include "vramfit/base/bytes.hpp"

#include "catch.hpp"

#include <array>

using namespace vramfit;
using namespace vramfit::test;

namespace {

using Flags = std::vector<std::string>;

/// Every suggestion, asked, gives the verdict that it promised, and is an improvement.
void check_promises(const Request& request) {
    const Answer a = answer(request);
    INFO(request.model << ' ' << request.quant.value_or("") << " ctx " << request.n_ctx.value_or(0) << " on "
                       << request.gpus[0]);
    CHECK((a.verdict != Verdict::fit || a.suggestions.empty()));
    for (const Suggestion& s : a.suggestions) {
        INFO(s.kind << ": " << s.summary);
        CHECK(s.verdict < a.verdict);
        CHECK(s.verdict <= Verdict::tight);
        CHECK(answer(s.request).verdict == s.verdict);
        CHECK_FALSE(s.set.empty());
        CHECK((!s.flags.empty() || s.kind == "gpu")); // llama.cpp uses every GPU that it sees
        for (const std::string& flag : s.flags) CHECK(s.command.find(flag) != std::string::npos);
    }
}

/// Position in the order of loss.
std::size_t rank(const Suggestion& s) {
    static const std::array<std::string, 13> order{"flash_attn", "ctx",   "cache_type", "parallel",       "kv_unified",
                                                   "ubatch",     "quant", "n_cpu_moe",  "little context", "much loss",
                                                   "gpu_layers", "model", "gpu"};
    std::string kind = s.kind;
    if (kind == "quant" && s.summary.find("much loss of quality") != std::string::npos) kind = "much loss";
    // Less than llama.cpp's own --fit would leave is a greater loss than smaller weights.
    if (kind == "ctx" && s.request.n_ctx < 4096U) kind = "little context";
    const auto at = static_cast<std::size_t>(std::ranges::find(order, kind) - order.begin());
    REQUIRE(at < order.size());
    return at;
}

} // namespace

TEST_CASE("8B at 128K on 12 GB: less context, or a smaller cache, or fewer layers") {
    const Answer a = answer(llama_8b(131072, "12GB"));
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* ctx = find_kind(a, "ctx");
    REQUIRE(ctx);
    CHECK(ctx->verdict == Verdict::fit);
    CHECK(ctx->flags == Flags{"-c", "47616"});
    CHECK(ctx->command == "llama-server -m MODEL.gguf -c 47616 -ngl 99");
    CHECK(ctx->request.n_ctx == 47616);
    CHECK(std::get<std::uint64_t>(ctx->set.at(0).second) == 47616);
    // (131072 - 47616) x 129 KiB
    CHECK(format_bytes(ctx->saved) == "10.3 GiB");

    // 16 GiB of f16 are 8.5 in q8_0, too many; 4.5 in q4_0.
    const Suggestion* cache = find_kind(a, "cache_type");
    REQUIRE(cache);
    CHECK(cache->flags == Flags{"-ctk", "q4_0", "-ctv", "q4_0"});
    CHECK(cache->command == "llama-server -m MODEL.gguf -c 131072 -ngl 99 -ctk q4_0 -ctv q4_0");

    CHECK(find_kind(a, "quant") == nullptr); // the cache alone is larger than the card
    REQUIRE(find_kind(a, "gpu_layers"));
    CHECK(find_kind(a, "gpu_layers")->flags.at(0) == "-ngl");
}

TEST_CASE("8B at 40K on 8 GB: q8_0 halves the cache, q4_0 need not be told") {
    // 5120 MiB of cache are 2720 in q8_0: 4403.49 + 2720 + about 220 + 750.
    const Answer a = answer(llama_8b(40960, "9400MiB"));
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* cache = find_kind(a, "cache_type");
    REQUIRE(cache);
    CHECK(cache->verdict == Verdict::fit);
    CHECK(cache->flags == Flags{"-ctk", "q8_0", "-ctv", "q8_0"});
    CHECK(cache->summary.find("close to lossless") != std::string::npos);
    CHECK(std::ranges::count(a.suggestions, "cache_type", &Suggestion::kind) == 1);
}

TEST_CASE("a quantized cache brings flash attention along where it is off") {
    Request request = llama_8b(40960, "9400MiB");
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    const Suggestion* cache = find_kind(a, "cache_type");
    REQUIRE(cache);
    CHECK(cache->flags == Flags{"-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on"});
}

TEST_CASE("flash attention on is the cure where scores take the memory") {
    // Without it the scores of a layer take 16384 x 512 x 32 heads x 4 bytes: 1 GiB.
    Request request = llama_8b(16384, "8800MiB");
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    CHECK(a.verdict == Verdict::tight);
    const Suggestion* fa = find_kind(a, "flash_attn");
    REQUIRE(fa);
    CHECK(fa->verdict == Verdict::fit);
    CHECK(fa->flags == Flags{"-fa", "on"});
    CHECK(fa->saved > 900 * mib);
    REQUIRE(set_value<bool>(*fa, "flash_attn"));
    CHECK(*set_value<bool>(*fa, "flash_attn"));
}

TEST_CASE("refused settings are mended") {
    Request request = llama_8b(8192, "24GB");
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::refused);
    const Suggestion* fa = find_kind(a, "flash_attn");
    REQUIRE(fa);
    CHECK(fa->verdict == Verdict::fit);
    const Suggestion* cache = find_kind(a, "cache_type");
    REQUIRE(cache);
    CHECK(cache->flags == Flags{"-ctk", "f16", "-ctv", "f16"});
    check_promises(request);
}

TEST_CASE("refused and too large needs both mended") {
    Request request = llama_8b(131072, "12GB");
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::refused);
    REQUIRE_FALSE(a.suggestions.empty());
    check_promises(request);
}

TEST_CASE("fewer slots keep the context that each has") {
    Request request = llama_8b(65536, "8GB");
    request.parallel = 8;
    const Answer a = answer(request);
    const auto one = std::ranges::find_if(
        a.suggestions, [](const Suggestion& s) { return s.kind == "parallel" && s.verdict == Verdict::fit; });
    REQUIRE(one != a.suggestions.end());
    CHECK(one->flags == Flags{"-np", "1", "-c", "8192"}); // two are 16384 cells: 15104 would fit
    const Suggestion* unified = find_kind(a, "kv_unified");
    REQUIRE(unified);
    CHECK(unified->flags == Flags{"-kvu", "-c", "8192"});
    REQUIRE(set_value<bool>(*unified, "kv_unified"));
    CHECK(*set_value<bool>(*unified, "kv_unified"));
}

TEST_CASE("weights that are a little too large want the next smaller type") {
    // Q8_0 has 7605.33 MiB on the device; 10 GB leave 9490 - 1024 - 1140.
    const Answer a = answer(question("llama3.1-8b", "q8_0", 8192, "10GB"));
    const Suggestion* quant = find_kind(a, "quant");
    REQUIRE(quant);
    CHECK(quant->flags == Flags{"-m", "MODEL-Q6_K.gguf"});
    CHECK(quant->command == "llama-server -m MODEL-Q6_K.gguf -c 8192 -ngl 99");
    CHECK(quant->request.quant == "Q6_K");
}

TEST_CASE("without an importance matrix no type is suggested that needs one") {
    Request request = question("llama3.3-70b", "q4_k_m", 8192, "24GB");
    const Answer with = answer(request);
    REQUIRE(find_kind(with, "quant"));
    CHECK(find_kind(with, "quant")->request.quant == "IQ2_XS");
    request.imatrix = false;
    const Answer without = answer(request);
    for (const Suggestion& s : without.suggestions) CHECK(answer(s.request).verdict == s.verdict);
    check_promises(request);
}

TEST_CASE("a mixture of experts keeps some on the CPU, the fewest that do") {
    const Request request = question("qwen3-30b-a3b", "q4_k_m", 32768, "16GB");
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::oom);
    const Suggestion* experts = find_kind(a, "n_cpu_moe");
    REQUIRE(experts);
    CHECK(experts->verdict == Verdict::fit);
    CHECK(experts->flags.at(0) == "--n-cpu-moe");
    Request one_less = experts->request;
    one_less.n_cpu_moe -= 1;
    CHECK(answer(one_less).verdict != Verdict::fit);
    CHECK(find_kind(answer(llama_8b(131072, "12GB")), "n_cpu_moe") == nullptr);
}

TEST_CASE("where even all experts on the CPU leave too little, a smaller cache or context goes with them") {
    // 48 layers x 2 x 4 heads x 128 x 2 bytes are 96 KiB a token: 24 GiB at 262144, twice the card.
    const Answer a = answer(question("qwen3-coder-30b-a3b", "q4_k_m", 262144, "12GB"));
    const Suggestion* pair = find_kind(a, "n_cpu_moe");
    REQUIRE(pair);
    CHECK(pair->verdict == Verdict::fit);
    REQUIRE(pair->set.size() == 2);
    CHECK(*set_value<std::uint64_t>(*pair, "n_cpu_moe") == 48);
    REQUIRE(set_value<std::uint64_t>(*pair, "n_ctx"));
    Request more = pair->request;
    *more.n_ctx += 256;
    CHECK(answer(more).verdict != Verdict::fit);

    // 12 GiB of cache at 131072 are 6.4 in q8_0, and 96 KiB x 131072 leave no room for anything else on 12 GB.
    const Answer half = answer(question("qwen3-coder-30b-a3b", "q4_k_m", 131072, "12GB"));
    const Suggestion* cache = find_kind(half, "n_cpu_moe");
    REQUIRE(cache);
    CHECK(cache->verdict == Verdict::fit);
    REQUIRE(set_value<std::string>(*cache, "cache_type_k"));
    Request fewer = cache->request;
    fewer.n_cpu_moe -= 1;
    CHECK(answer(fewer).verdict != Verdict::fit);
}

TEST_CASE("as many layers stay on the GPU as fit") {
    const Answer a = answer(question("llama3.3-70b", "q4_k_m", 8192, "24GB"));
    const Suggestion* layers = find_kind(a, "gpu_layers");
    REQUIRE(layers);
    Request one_more = layers->request;
    one_more.n_gpu_layers = *one_more.n_gpu_layers + 1;
    CHECK(answer(one_more).verdict != Verdict::fit);
}

TEST_CASE("where no change alone helps, two do") {
    // Q8_0 alone is too large for 8 GB, and so is the cache of 65536 tokens.
    const Answer a = answer(question("llama3.1-8b", "q8_0", 65536, "8GB"));
    CHECK(find_kind(a, "ctx") == nullptr);
    const Suggestion* pair = find_kind(a, "quant");
    REQUIRE(pair);
    CHECK(pair->set.size() == 2);
    CHECK(pair->verdict == Verdict::fit);
    CHECK(pair->flags.at(0) == "-m");
    CHECK(pair->flags.at(2) == "-c");
}

TEST_CASE("suggestions come by loss, and keep what they promise") {
    struct Case {
        const char *model, *quant;
        std::uint64_t n_ctx;
        const char* gpu;
    };
    for (const Case& c :
         {Case{"llama3.1-8b", "q4_k_m", 16384, "8GB"}, Case{"llama3.1-8b", "f16", 131072, "24GB"},
          Case{"gemma3-27b", "q4_k_m", 131072, "24GB"}, Case{"gpt-oss-20b", "mxfp4_moe", 131072, "12GB"},
          Case{"qwen3-30b-a3b", "q6_k", 40960, "24GB"}, Case{"mamba-2.8b", "f16", 2048, "6GB"},
          Case{"deepseek-v2-lite", "q8_0", 32768, "16GB"}, Case{"phi-2", "q8_0", 2048, "4GB"},
          Case{"falcon-h1-7b", "q8_0", 131072, "10GB"}, Case{"llama3.1-8b", "q4_k_m", 8192, "1GB"}}) {
        const Request request = question(c.model, c.quant, c.n_ctx, c.gpu);
        check_promises(request);
        const Answer a = answer(request);
        CHECK(std::ranges::is_sorted(a.suggestions, {}, rank));
    }
    Request slots = question("gemma3-12b", "q4_k_m", 65536, "12GB");
    slots.parallel = 4;
    check_promises(slots);
    Request cli = llama_8b(40960, "9400MiB");
    cli.runtime = "llama-cli";
    cli.n_ubatch = 2048;
    check_promises(cli);
    Request two = question("llama3.3-70b", "q4_k_m", 32768, "24GB");
    two.gpus.push_back("24GB");
    check_promises(two);
}

TEST_CASE("where a tight fit is a failure, what gives a fit comes first") {
    // 5400 MiB hold 1024 tokens tightly and none with room to spare; fewer layers, or smaller weights, fit.
    Request request = llama_8b(8192, "5400MiB");
    REQUIRE(answer(request).verdict == Verdict::oom);
    CHECK(answer(request).suggestions.at(0).verdict == Verdict::tight);
    request.strict = true;
    const Answer oom = answer(request);
    CHECK(oom.suggestions.at(0).verdict == Verdict::fit);
    CHECK(std::ranges::is_sorted(oom.suggestions, {}, &Suggestion::verdict));

    request = llama_8b(16384, "8GB"); // 15104 fit
    REQUIRE(answer(request).verdict == Verdict::tight);
    CHECK(answer(request).command == "llama-server -m MODEL.gguf -c 16384 -ngl 99");
    request.strict = true;
    CHECK(answer(request).command == "llama-server -m MODEL.gguf -c 15104 -ngl 99");
}

TEST_CASE("a smaller model of the family, and more cards of the kind") {
    const Answer a = answer(question("llama3.3-70b", "q4_k_m", 8192, "rtx4090"));
    const Suggestion* sibling = find_kind(a, "model");
    REQUIRE(sibling);
    CHECK(*set_value<std::string>(*sibling, "model") == "llama3.1-8b"); // out five months before, not CodeLlama 34B
    CHECK(sibling->command == "llama-server -m llama3.1-8b-Q4_K_M.gguf -c 8192 -ngl 99");
    const Suggestion* gpu = find_kind(a, "gpu");
    REQUIRE(gpu);
    CHECK(*set_value<std::string>(*gpu, "gpu") == "2xrtx4090"); // 39.0 + 2.5 GiB and a little on 2 x 24
    CHECK(gpu->flags.empty());
    CHECK(gpu->command == "llama-server -m MODEL.gguf -c 8192 -ngl 99");
    const Answer four = answer(question("llama3.3-70b", "q8_0", 8192, "24GB"));
    REQUIRE(find_kind(four, "gpu"));
    CHECK(*set_value<std::string>(*find_kind(four, "gpu"), "gpu") == "4x24GB"); // 70 GiB
    CHECK(find_kind(answer(question("llama3.3-70b", "q4_k_m", 8192, "rtx5090-laptop")), "gpu") == nullptr);
    CHECK(find_kind(answer(question("llama3.3-70b", "q4_k_m", 8192, "m1-16gb")), "gpu") == nullptr);
    CHECK(*set_value<std::string>(*find_kind(answer(question("qwen2.5-coder-32b", "q4_k_m", 8192, "12GB")), "model"),
                                  "model") == "qwen2.5-coder-14b");
    CHECK(find_kind(answer(question("kimi-k2-1t", "q4_k_m", 8192, "24GB")), "model") == nullptr);
}

TEST_CASE("weights under three bits come after experts on the CPU, and never tight beside something better") {
    const Answer a = answer(question("qwen3-30b-a3b", "q4_k_m", 32768, "12GB"));
    REQUIRE(a.suggestions.size() > 1);
    CHECK(a.suggestions[0].kind == "n_cpu_moe");
    for (const Suggestion& s : a.suggestions) {
        if (s.summary.find("much loss") != std::string::npos) CHECK(s.verdict == Verdict::fit);
    }
}

TEST_CASE("the CPU alone is the last resort") {
    const Answer a = answer(llama_8b(8192, "2300MiB"));
    REQUIRE(a.verdict == Verdict::oom);
    REQUIRE_FALSE(a.suggestions.empty());
    const Suggestion* layers = find_kind(a, "gpu_layers");
    REQUIRE(layers);
    CHECK(layers->summary == "all layers on the CPU (much slower)");
    for (const Suggestion& s : a.suggestions) // what is left is another model
        CHECK((s.kind == "gpu_layers" || s.kind == "model"));
}

TEST_CASE("where nothing helps, a note says what would") {
    // Not even the process has room: 450 MiB for the driver, 300 for the process.
    const Answer a = answer(llama_8b(8192, "700MiB"));
    REQUIRE(a.verdict == Verdict::oom);
    CHECK(a.suggestions.empty());
    // 4403.49 + 1024 + 116.01 + 750 MiB, and 1024 to spare: 7317.5 MiB
    CHECK(
        has_note(a, "nothing that can be changed here makes it fit: a GPU with 8 GiB, or a smaller model, is needed"));
    Request two = llama_8b(8192, "700MiB");
    two.gpus.push_back("700MiB");
    CHECK(has_note(answer(two), "GPUs with "));
}

TEST_CASE("windows where the whole context is cached") {
    // Gemma 3 12B: 40 of 48 layers have a window of 1024. Whole caches of 32768 tokens take 12 GiB: 48 layers x 8 heads x
    // 256 x 2 x 2 bytes are 384 KiB a token; with windows it is 8 layers of them and 1.5 Ki cells of the others.
    Request request = question("gemma3-12b", "q4_k_m", 32768, "16GB");
    request.swa_full = true;
    const Answer whole = answer(request);
    CHECK(whole.verdict == Verdict::oom);
    CHECK(whole.devices.front().memory.kv_cache == 12 * gib);
    const Suggestion* windows = find_kind(whole, "swa_full");
    REQUIRE(windows != nullptr);
    CHECK(windows->verdict == Verdict::fit);
    CHECK(windows->flags.empty());
    CHECK(*set_value<bool>(*windows, "swa_full") == false);
    CHECK(windows->command.find("--swa-full") == std::string::npos);
    request.swa_full = false;
    CHECK(find_kind(answer(request), "swa_full") == nullptr);
}

TEST_CASE("max is a number to every runtime") {
    Request request = llama_8b(0, "12GB");
    const Answer a = answer(request);
    CHECK(a.settings.n_ctx == 131072);
    CHECK(a.command == "llama-server -m MODEL.gguf -c 131072 -ngl 99");
    const Suggestion* shorter = find_kind(a, "ctx");
    REQUIRE(shorter != nullptr);
    CHECK(shorter->summary.ends_with(" instead of 131072"));
    request.runtime = "ollama";
    CHECK(answer(request).command.starts_with("OLLAMA_CONTEXT_LENGTH=131072 "));
}

TEST_CASE("a machine whose GPU shares its memory has no more of it for the CPU") {
    // Qwen3 235B in Q4_K_M is larger than the 128 GiB of the Mac: no way to divide it fits.
    const Answer a = answer(question("qwen3-235b-a22b", "q4_k_m", 8192, "m4-max-128gb"));
    REQUIRE(a.ram);
    CHECK(a.ram->total == 128 * gib);
    CHECK(a.ram->verdict == Verdict::oom);
    CHECK(find_kind(a, "n_cpu_moe") == nullptr);
    CHECK(find_kind(a, "gpu_layers") == nullptr);
    CHECK_FALSE(answer(llama_8b(8192, "24GB")).ram);
}

TEST_CASE("more GPUs than llama.cpp can use are refused") {
    CHECK(answer(llama_8b(8192, "16x24GB")).devices.size() == 16);
    CHECK(error_of(llama_8b(8192, "17x24GB")) ==
          "17 GPUs are more than the 16 that llama.cpp can use; give at most so many");
}

TEST_CASE("flash attention on goes with whatever else is needed") {
    // It costs nothing, and without it a context of 10240 is all that an 8 GB card holds.
    Request request = llama_8b(131072, "8GB");
    request.flash_attn = FlashAttention::off;
    const Answer a = answer(request);
    const Suggestion* shorter = find_kind(a, "ctx");
    REQUIRE(shorter != nullptr);
    CHECK(shorter->flags == Flags{"-c", "15104", "-fa", "on"}); // as with -fa on from the start
    CHECK(shorter->request.flash_attn == FlashAttention::on);
    check_promises(request);
    // Refused, and too large besides.
    request = llama_8b(65536, "8GB");
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    REQUIRE(answer(request).verdict == Verdict::refused);
    const Answer both = answer(request);
    const Suggestion* cured = find_kind(both, "ctx");
    REQUIRE(cured != nullptr);
    CHECK(cured->request.type_k == TensorType::q8_0);
    check_promises(request);
}

TEST_CASE("refused with some layers on the CPU is mended, too") {
    Request request = llama_8b(8192, "24GB");
    request.type_k = request.type_v = TensorType::q8_0;
    request.flash_attn = FlashAttention::off;
    request.n_gpu_layers = 25;
    const Answer a = answer(request);
    REQUIRE(a.verdict == Verdict::refused);
    REQUIRE(find_kind(a, "flash_attn") != nullptr);
    CHECK(find_kind(a, "flash_attn")->verdict == Verdict::fit);
    // q4_0 would be no more than the f16 that fits already.
    CHECK(std::ranges::count(a.suggestions, "cache_type", &Suggestion::kind) <= 1);
}

TEST_CASE("a second GPU that a setting leaves empty is used") {
    // 70B in Q3_K_M: 31.9 GiB of weights, 16 and 16 on two cards of 24 GB.
    Request request = question("llama3.3-70b", "q3_k_m", 8192, "2x24GB");
    request.split_mode = SplitMode::none;
    const Suggestion* split = nullptr;
    const Answer none = answer(request);
    split = find_kind(none, "split_mode");
    REQUIRE(split != nullptr);
    CHECK(split->verdict == Verdict::fit);
    CHECK(split->command.find("-sm") == std::string::npos);
    request.split_mode.reset();
    request.tensor_split = {3, 1};
    const Answer lopsided = answer(request);
    split = find_kind(lopsided, "split_mode");
    REQUIRE(split != nullptr);
    CHECK(split->verdict == Verdict::fit);
    CHECK(split->command.find("-ts") == std::string::npos);
}

TEST_CASE("a cache in RAM is made smaller where RAM is short") {
    // 64Ki tokens of 128 KiB are 8 GiB in f16, and 4.25 in q8_0.
    Request request = llama_8b(65536, "12GB");
    request.kv_offload = false;
    request.ram = 8 * gib;
    const Answer a = answer(request);
    REQUIRE(a.ram);
    CHECK(a.ram->verdict == Verdict::oom);
    REQUIRE(find_kind(a, "cache_type") != nullptr);
    CHECK(find_kind(a, "cache_type")->verdict == Verdict::fit);
}

TEST_CASE("a context of little use does not come first") {
    // phi-4 in Q8_0 on 16 GB: 512 tokens would fit.
    const Answer a = answer(question("phi-4", "q8_0", 16384, "16GB"));
    REQUIRE_FALSE(a.suggestions.empty());
    CHECK(a.suggestions.front().kind != "ctx");
    CHECK(find_kind(a, "quant")->verdict == Verdict::fit);
}

TEST_CASE("experts on the CPU and smaller weights go together where the computer's memory is short, too") {
    // GLM 4.5 Air is 92 GiB in Q6_K: 24 and 32 GiB hold it in three bits, most experts in RAM.
    Request request = question("glm-4.5-air", "q6_k", 16384, "24GB");
    request.ram = 32 * gib;
    const Answer a = answer(request);
    const Suggestion* both = find_kind(a, "n_cpu_moe");
    REQUIRE(both != nullptr);
    CHECK(both->verdict == Verdict::fit);
    REQUIRE(set_value<std::string>(*both, "quant") != nullptr);
    CHECK(both->request.n_cpu_moe > 0);
    check_promises(request);
}
